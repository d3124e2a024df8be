// A Fragment is the secret in the fragment of a link, which browsers do not send to servers. It is removed from the
// address, and so from the history. It is '' if the page was opened or reloaded without it.
export class Fragment {
  text = $state('')
  constructor() { this.read() }

  // read is called again when the fragment changes: when a link is opened while the page is.
  read = () => {
    const text = location.hash.slice(1)
    if (!text) return
    try {
      this.text = decodeURIComponent(text)
    } catch {
      this.text = text // a damaged link, which the server refuses
    }
    history.replaceState(null, '', location.pathname)
  }
}
