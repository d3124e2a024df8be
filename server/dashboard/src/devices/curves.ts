// The pages with charts, loaded as one file.
export { default as Alerts } from './Alerts.svelte'
export { default as DeviceFrame } from './DeviceFrame.svelte'
