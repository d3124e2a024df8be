// Loading of data. Old data stays on show while new data is fetched, and a new request aborts the previous one. Only reads are ever
// repeated.

import { untrack } from 'svelte'
import { Problem } from './api'

export class Loaded<T> {
  data = $state.raw<T | undefined>()
  error = $state.raw<Problem | undefined>()
  loading = $state(true)
  #again = $state(0)
  #kept: string | undefined

  // key identifies the request; null makes none. Data of another subject (the key's first line) is not kept on show.
  constructor(key: () => string | null, fetcher: (signal: AbortSignal) => Promise<T>) {
    $effect(() => {
      void this.#again
      const k = key()
      if (k === null) return
      const control = new AbortController()
      untrack(() => {
        const subject = k.split('\n')[0]
        if (subject !== this.#kept) this.data = undefined
        this.#kept = subject
        this.loading = true
        fetcher(control.signal).then(
          (data) => {
            if (control.signal.aborted) return
            this.data = data
            this.error = undefined
            this.loading = false
          },
          (e) => {
            if (control.signal.aborted) return
            this.error = e instanceof Problem ? e : new Problem(0, 'unexpected', String(e))
            this.loading = false
          },
        )
      })
      return () => control.abort()
    })
  }

  reload() { this.#again++ }
}

// Action runs a change of data. While it runs, further calls do nothing, so that a double click counts once.
export class Action<A extends unknown[]> {
  busy = $state(false)
  error = $state.raw<Problem | undefined>()
  constructor(private readonly run: (...args: A) => Promise<unknown>) {}

  call = async (...args: A): Promise<boolean> => {
    if (this.busy) return false
    this.busy = true
    this.error = undefined
    try {
      await this.run(...args)
      return true
    } catch (e) {
      this.error = e instanceof Problem ? e : new Problem(0, 'unexpected', String(e))
      return false
    } finally {
      this.busy = false
    }
  }
}
