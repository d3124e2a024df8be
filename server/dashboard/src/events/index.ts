// The event store's pages, in one file that is loaded only when events are shown.
export { default as Events } from './Events.svelte'
