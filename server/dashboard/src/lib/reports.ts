import type { ChannelKind } from '../ui/ChannelForm.svelte'
import { call, type Abort } from './api'

export type Every = 'daily' | 'weekly' | 'monthly'
export type Channel = { id: string; kind: string; name?: string; off?: boolean; unsubscribed?: string[]; [setting: string]: unknown }
export type Report = { id: string; every: Every; hour: number; channels?: string[]; off?: boolean; next?: string }
export type Message = { id: string; title: string; to?: string; attempts: number; lastError?: string }

const at = (site: string, ...rest: string[]) => '/sites/' + [site, ...rest].map(encodeURIComponent).join('/')

// The channels and regular reports of a site.
export const reports = {
  channels: (site: string, s?: Abort) => call<{ channels: Channel[] | null; kinds: ChannelKind[] }>('GET', at(site, 'channels'), undefined, undefined, s),
  putChannel: (site: string, id: string, body: object) => call<{ channel: Channel; secret?: string }>('PUT', at(site, 'channels', id), undefined, body),
  deleteChannel: (site: string, id: string) => call<void>('DELETE', at(site, 'channels', id)),
  test: (site: string, id: string) => call<{ id: string }>('POST', at(site, 'channels', id, 'test')),
  list: (site: string, s?: Abort) => call<{ reports: Report[] | null }>('GET', at(site, 'reports'), undefined, undefined, s),
  put: (site: string, id: string, body: { every: Every; hour: number }) => call<Report>('PUT', at(site, 'reports', id), undefined, body),
  remove: (site: string, id: string) => call<void>('DELETE', at(site, 'reports', id)),
  send: (site: string, id: string) => call<{ messages: number }>('POST', at(site, 'reports', id, 'send')),
  messages: (site: string, state: string, s?: Abort) => call<{ messages: Message[] | null }>('GET', at(site, 'messages'), new URLSearchParams({ state }), undefined, s),
  resend: (site: string, id: string) => call<Message>('POST', at(site, 'messages', id, 'resend')),
}
