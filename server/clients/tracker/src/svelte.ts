import { count, type Tracked } from './tracked.js'

export type { Tracked }

/** The action `use:track={tracked}`: counts an event whenever the element is clicked. */
export function track(element: Element, tracked: Tracked): { update(tracked: Tracked): void; destroy(): void } {
  const clicked = () => count(tracked)
  element.addEventListener('click', clicked)
  return {
    update(next) {
      tracked = next
    },
    destroy() {
      element.removeEventListener('click', clicked)
    },
  }
}
