import { event, type EventData } from './index.js'

/** What a click on an element counts: the name of an event, or its name and data. */
export type Tracked = string | ({ name: string } & EventData)

/** Counts the event. */
export function count(tracked: Tracked): void {
  if (typeof tracked === 'string') event(tracked)
  else event(tracked.name, tracked)
}
