// useView reads the view of the current page from the URL, and changes it there.

import type { Site } from './api'
import { todayIn } from './days'
import { useShortcuts } from './keys.svelte'
import { route, setQuery } from './router.svelte'
import { DEFAULT_RANGE, RANGES, readView, withView, type View } from './view'

export function useView(site: () => Site) {
  const today = $derived(todayIn(site().timezone, new Date()))
  const view = $derived(readView(route.query, today))
  const change = (v: Partial<View>) => setQuery(withView(route.query, v))
  useShortcuts(() => RANGES.map(([range, label, key]) => ({ key, does: label + (range === DEFAULT_RANGE ? ' (default)' : ''), run: () => change({ range }) })))
  return {
    get today() { return today },
    get view() { return view },
    change,
  }
}
