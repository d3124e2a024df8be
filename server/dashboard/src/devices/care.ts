// The management pages of fleets and devices, loaded as one file.
export { default as Connect } from './Connect.svelte'
export { default as DeviceData } from './DeviceData.svelte'
export { default as DeviceSettings } from './DeviceSettings.svelte'
export { default as FleetSettings } from './FleetSettings.svelte'
export { default as NewDevice } from './NewDevice.svelte'
export { default as NewFleet } from './NewFleet.svelte'
