// Light or dark theme: the system's unless the user chose one.

export type Choice = 'system' | 'light' | 'dark'
const KEY = 'onefold.theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

const stored = (): Choice => {
  try {
    const s = localStorage.getItem(KEY)
    return s === 'light' || s === 'dark' ? s : 'system'
  } catch {
    return 'system'
  }
}

let choice = $state<Choice>('system')
let shown = $state<'light' | 'dark'>('light')

function apply() {
  shown = choice === 'system' ? (dark.matches ? 'dark' : 'light') : choice
  document.documentElement.dataset['theme'] = shown
}

export const theme = {
  get shown() { return shown },
  get choice() { return choice },
  choose(next: Choice) {
    choice = next
    try {
      if (next === 'system') localStorage.removeItem(KEY)
      else localStorage.setItem(KEY, next)
    } catch { /* no storage: the choice lasts until the page is closed */ }
    apply()
  },
  toggle() { theme.choose(shown === 'dark' ? 'light' : 'dark') },
}

export function startTheme() {
  choice = stored()
  dark.addEventListener('change', apply)
  apply()
}
