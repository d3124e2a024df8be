// The pages of telemetry, in one file that only those load who look at devices.
export { default as Devices } from './Devices.svelte'
export { default as FleetCards } from './FleetCards.svelte'
