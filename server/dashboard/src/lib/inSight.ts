// inSight scrolls a row of tabs so that the current tab is visible on narrow screens. It scrolls again when the tab or the width
// changes.
export function inSight(nav: HTMLElement, _at: string) {
  const update = () => {
    const row = nav.getBoundingClientRect(), tab = nav.querySelector('[aria-current]')?.getBoundingClientRect()
    if (tab) nav.scrollLeft += tab.left - row.left - (row.width - tab.width) / 2
  }
  const room = new ResizeObserver(update) // also reports the initial size
  room.observe(nav)
  return { update, destroy: () => room.disconnect() }
}
