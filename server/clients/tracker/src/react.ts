'use client'
import { useCallback, useEffect } from 'react'
import { event, init, setUser, type EventData, type Options } from './index.js'

/** Starts the tracker when it is first rendered in a browser. Render it once, near the root. */
export function Onefold(options: Options): null {
  // The tracker cannot be started twice, so later values of the options have no effect.
  useEffect(() => init(options), [])
  return null
}

/** Returns a function that counts an event, the same function in every render. */
export function useEvent(name: string): (data?: EventData) => void {
  return useCallback((data?: EventData) => event(name, data), [name])
}

/** Sets the user ID of events while the component is mounted: undefined and null are nobody. */
export function useUser(id: string | number | null | undefined): void {
  useEffect(() => {
    setUser(id ?? null)
    return () => setUser(null)
  }, [id])
}
