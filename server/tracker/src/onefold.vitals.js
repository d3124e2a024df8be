// Reports the web vitals of the loaded page once, when it is first hidden or left: largest
// contentful paint and interaction to next paint in milliseconds, and cumulative layout shift.
// Definitions: https://web.dev/articles/vitals
(() => {
  let lcp
  let cls // 0 is a valid value where shifts can be measured
  let told
  const durations = new Map() // of interactions, by ID
  const observe = (type, see, options) => {
    try {
      new PerformanceObserver(list => list.getEntries().map(see)).observe({ type, buffered: true, ...options })
    } catch {} // the browser does not support this metric, so it has no value
  }

  observe('largest-contentful-paint', entry => (lcp = Math.round(entry.startTime)))

  // Shifts less than a second apart, within at most five seconds, form one session; the worst
  // session counts.
  let shift = 0
  let first = 0
  let last = 0
  if (window.PerformanceObserver?.supportedEntryTypes?.includes('layout-shift')) cls = 0
  observe('layout-shift', entry => {
    if (entry.hadRecentInput) return
    if (entry.startTime - last > 1000 || entry.startTime - first > 5000) {
      shift = 0
      first = entry.startTime
    }
    last = entry.startTime
    shift += entry.value
    cls = Math.max(cls, Math.round(shift * 1e4) / 1e4)
  })

  const interaction = entry => {
    if (!entry.interactionId) return
    durations.set(entry.interactionId, Math.max(durations.get(entry.interactionId) || 0, entry.duration))
  }
  observe('event', interaction, { durationThreshold: 40 })
  observe('first-input', interaction) // reported however fast it was, so that a page that is always fast has an INP, too
  // For every fifty interactions, one of the worst is ignored.
  const inp = () => {
    const sorted = [...durations.values()].sort((a, b) => b - a)
    return sorted[Math.min(sorted.length - 1, Math.floor((performance.interactionCount || sorted.length) / 50))]
  }

  const tell = () => {
    if (told || !window.onefold) return
    told = 1
    window.onefold('vitals', {}, { lcp, inp: inp(), cls })
  }
  addEventListener('visibilitychange', () => document.hidden && tell(), true)
  addEventListener('pagehide', tell, true)
})()
