// Behavior is what the dimension of a filter says about how often something was done, such as
// user.did.2-5.30d:event. Without who, it is an ordinary dimension.
export interface Behavior { who: string; least: number | null; most: number | null; days: number | null; dimension: string }

export function parseBehavior(text: string): Behavior {
  const m = /^((?:visit|visitor|user)\.did(?:_not)?)((?:\.[\d-]+d?)*):(.+)$/.exec(text)
  if (!m) return { who: '', least: 1, most: null, days: null, dimension: text }
  const times = /\.(\d*)-(\d*)/.exec(m[2]!), days = /\.(\d+)d/.exec(m[2]!)
  return { who: m[1]!, least: times ? Number(times[1]) : 1, most: times?.[2] ? Number(times[2]) : null, days: days ? Number(days[1]) : null, dimension: m[3]! }
}

export function formatBehavior({ who, least, most, days, dimension }: Behavior): string {
  if (!who) return dimension
  const from = least ?? 1
  const times = most !== null ? `.${from}-${most}` : from > 1 ? `.${from}-` : ''
  return `${who}${times}${days && who.startsWith('user') ? `.${days}d` : ''}:${dimension}`
}
