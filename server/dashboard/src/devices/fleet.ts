import { devices, type Device, type Fleet, type MetricDef, type Profile } from './api'

// FleetProps are the props of every page of a fleet. may: the user may change the fleet.
export interface FleetProps { fleet: Fleet; base: string; rest: string[]; may: boolean; changed: () => void }

export const deviceAddress = (base: string, device: string) => `${base}/devices/${encodeURIComponent(device)}`

// DeviceProps are the props of every page of a device.
export interface DeviceProps { fleet: Fleet; base: string; device: Device; metrics: MetricDef[]; every: number | undefined; may: boolean; rest: string[]; changed: () => void }

// profileOf returns the profile of a device, if it has one.
export const profileOf = async (fleet: string, d: Device, s?: AbortSignal): Promise<Profile | undefined> =>
  d.profile ? ((await devices.profiles(fleet, s)).profiles ?? []).find((p) => p.id === d.profile) : undefined
