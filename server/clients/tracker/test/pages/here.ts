// What the pages of the browser test share: the test's server, and buttons that act.

/** Where events go: the page says so. */
export const endpoint = document.documentElement.dataset['endpoint'] ?? ''

/** Adds a button to the page. */
export function button(name: string, act: () => void): void {
  const element = document.createElement('button')
  element.textContent = name
  element.onclick = act
  document.body.append(element)
}

/** Goes to another path as routers do. */
export const go = (path: string) => history.pushState(null, '', path)
