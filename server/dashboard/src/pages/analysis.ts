// A site's pages other than the overview, and its dialogs, in one file: they are small, and compress better together.
export { default as Funnels } from './Funnels.svelte'
export { default as Goals } from './Goals.svelte'
export { default as Journeys } from './Journeys.svelte'
export { default as Numbers } from './Numbers.svelte'
export { default as Realtime } from './Realtime.svelte'
export { default as Retention } from './Retention.svelte'
export { default as Sessions } from './Sessions.svelte'
export { default as Annotations } from '../ui/Annotations.svelte'
