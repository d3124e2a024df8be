// The URL is the state. Links are plain links; the router only avoids the page reload.

const here = () => ({ path: location.pathname, query: new URLSearchParams(location.search) })

let current = $state.raw(here())

export const route = {
  get path() { return current.path },
  get query() { return current.query },
  get parts() { return current.path.split('/').filter(Boolean).map(decodeURIComponent) },
}

export const address = (path: string, query?: URLSearchParams) => {
  const text = query?.toString().replaceAll('%3A', ':').replaceAll('%2F', '/')
  return path + (text ? '?' + text : '')
}

export function go(to: string, options: { replace?: boolean; keepScroll?: boolean } = {}) {
  if (to === location.pathname + location.search) return
  if (options.replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  const samePage = current.path === location.pathname
  current = here()
  if (!samePage && !options.keepScroll) {
    scrollTo(0, 0)
    requestAnimationFrame(() => document.getElementById('content')?.focus({ preventScroll: true }))
  }
}

// setQuery changes the query without leaving the page.
export const setQuery = (query: URLSearchParams, replace = false) => go(address(current.path, query), { replace, keepScroll: true })

// setParams sets parameters of the query; "" removes one.
export function setParams(to: Record<string, string>, replace = false) {
  const q = new URLSearchParams(current.query)
  for (const [name, value] of Object.entries(to)) if (value) q.set(name, value); else q.delete(name)
  setQuery(q, replace)
}

export function startRouter() {
  addEventListener('popstate', () => { current = here() })
  addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
    const a = (e.target as Element).closest?.('a')
    if (!a || a.target || a.hasAttribute('download') || a.origin !== location.origin || a.dataset['reload'] !== undefined) return
    if (a.pathname === location.pathname && a.search === location.search && a.hash) return
    e.preventDefault()
    go(a.pathname + a.search)
  })
}
