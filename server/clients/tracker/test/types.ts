// What the types allow and refuse. Checked by tsc, never run.
import type { ComponentProps } from 'react'
import type { Action } from 'svelte/action'
import type { Plugin } from 'vue'
import { event, init, setUser, type Options } from '@onefold/tracker'
import { Onefold, useEvent } from '@onefold/tracker/react'
import { track, type Tracked } from '@onefold/tracker/svelte'
import { onefold, vTrack } from '@onefold/tracker/vue'

export const action: Action<HTMLButtonElement, Tracked> = track
export const plugin: Plugin<Options> = onefold
export const component: ComponentProps<typeof Onefold> = { site: 'blog', endpoint: '/api/event', respect: ['dnt', 'gpc'] }
export const directive = vTrack

export function calls(): void {
  init({ site: 'blog', endpoint: 'https://stats.example.com/api/event', vitals: true })
  event('purchase', { revenue: 12.5, props: { plan: 'pro', seats: 3, trial: false, coupon: null } })
  setUser('user-7')
  // @ts-expect-error the endpoint is required
  init({ site: 'blog' })
  // @ts-expect-error a signal that no browser sends
  init({ site: 'blog', endpoint: '/api/event', respect: ['p3p'] })
  // @ts-expect-error a property is a text, a number or a boolean
  event('purchase', { props: { items: ['a', 'b'] } })
  // @ts-expect-error properties belong in props
  event('purchase', { plan: 'pro' })
  // @ts-expect-error the name is required
  event()
  // @ts-expect-error null clears the user; undefined is a mistake
  setUser(undefined)
  // @ts-expect-error an event has a name
  useEvent()
}
