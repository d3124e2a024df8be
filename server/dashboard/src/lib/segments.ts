// The operations on segments. They are apart from the other operations of sites because only a dialog and a form use them.

import { call } from './api'

export interface Segment { id: string; name: string; description?: string; filters: string[]; shares: string[] }

export interface SegmentSettings { name: string; description: string; filters: string[] }

const at = (site: string, segment = '') => `/sites/${encodeURIComponent(site)}/segments${segment && '/' + encodeURIComponent(segment)}`

export const segments = {
  list: (site: string, s?: AbortSignal) => call<{ segments: Segment[] | null }>('GET', at(site), undefined, undefined, s),
  create: (site: string, body: SegmentSettings) => call<Segment>('POST', at(site), undefined, body),
  update: (site: string, segment: string, body: SegmentSettings) => call<Segment>('PUT', at(site, segment), undefined, body),
  remove: (site: string, segment: string) => call<void>('DELETE', at(site, segment)),
}
