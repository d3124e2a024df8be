// Keyboard shortcuts. A page registers its keys while it is shown; "?" lists them.

import { untrack } from 'svelte'

export interface Shortcut { key: string; does: string; run: () => void }

let groups = $state.raw<Shortcut[][]>([])

export const shortcuts = { get all() { return groups.flat() } }

// useShortcuts registers shortcuts for the lifetime of the component.
export function useShortcuts(list: () => Shortcut[]) {
  $effect(() => {
    const mine = list()
    untrack(() => { groups = [...groups, mine] })
    return () => { groups = untrack(() => groups).filter((g) => g !== mine) }
  })
}

// onKey runs a shortcut, unless the user is typing or a dialog is open.
export function onKey(e: KeyboardEvent): boolean {
  if (e.metaKey || e.ctrlKey || e.altKey || e.defaultPrevented) return false
  const t = e.target as HTMLElement
  if (t.closest?.('input, textarea, select, [contenteditable], dialog')) return false
  const hit = shortcuts.all.find((s) => s.key === e.key)
  if (hit) {
    e.preventDefault()
    hit.run()
  }
  return !!hit
}
