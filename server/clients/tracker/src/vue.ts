import type { App, Directive } from 'vue'
import { init, type Options } from './index.js'
import { count, type Tracked } from './tracked.js'

export type { Tracked }

const current = new WeakMap<Element, Tracked>()

function clicked(this: Element): void {
  const tracked = current.get(this)
  if (tracked) count(tracked)
}

/** The directive `v-track`: counts an event whenever the element is clicked. */
export const vTrack: Directive<Element, Tracked> = {
  mounted(element, { value }) {
    current.set(element, value)
    element.addEventListener('click', clicked)
  },
  updated(element, { value }) {
    current.set(element, value)
  },
  unmounted(element) {
    element.removeEventListener('click', clicked)
  },
  getSSRProps: () => ({}),
}

/** A plugin that starts the tracker in a browser and registers `v-track`: `app.use(onefold, options)`. */
export const onefold = {
  install(app: App, options: Options): void {
    app.directive('track', vTrack)
    init(options)
  },
}
