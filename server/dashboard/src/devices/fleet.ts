import { devices, type Device, type Fleet, type MetricDef, type Profile } from './api'

// FleetProps is what every page of a fleet gets. may: whoever looks may change things.
export interface FleetProps { fleet: Fleet; base: string; rest: string[]; may: boolean; changed: () => void }

export const deviceAddress = (base: string, device: string) => `${base}/devices/${encodeURIComponent(device)}`

// DeviceProps is what every page of a device gets.
export interface DeviceProps { fleet: Fleet; base: string; device: Device; metrics: MetricDef[]; every: number | undefined; may: boolean; rest: string[]; changed: () => void }

// profileOf is the profile that a device has, if it has one.
export const profileOf = async (fleet: string, d: Device, s?: AbortSignal): Promise<Profile | undefined> =>
  d.profile ? ((await devices.profiles(fleet, s)).profiles ?? []).find((p) => p.id === d.profile) : undefined
