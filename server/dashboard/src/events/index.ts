// The pages of the event store, in one file that only those load who look at events.
export { default as Events } from './Events.svelte'
