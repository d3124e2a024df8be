// The telemetry pages, in one file that is loaded only when devices are shown.
export { default as Devices } from './Devices.svelte'
export { default as FleetCards } from './FleetCards.svelte'
