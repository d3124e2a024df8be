// inSight scrolls a row of tabs so that the present one is seen, which on a narrow screen it may not be; again whenever at
// or the room changes.
export function inSight(nav: HTMLElement, _at: string) {
  const update = () => {
    const row = nav.getBoundingClientRect(), tab = nav.querySelector('[aria-current]')?.getBoundingClientRect()
    if (tab) nav.scrollLeft += tab.left - row.left - (row.width - tab.width) / 2
  }
  const room = new ResizeObserver(update) // which tells of the first room, too
  room.observe(nav)
  return { update, destroy: () => room.disconnect() }
}
