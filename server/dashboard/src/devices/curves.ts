// The pages that draw curves, in one file.
export { default as Alerts } from './Alerts.svelte'
export { default as DeviceFrame } from './DeviceFrame.svelte'
