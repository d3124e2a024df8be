// Days in a site's time zone as YYYY-MM-DD. Arithmetic is on calendar days, so days of 23 or 25 hours do not matter.

export const parseDay = (day: string) => new Date(day + 'T00:00:00Z')
export const formatDay = (d: Date) => d.toISOString().slice(0, 10)

export function addDays(day: string, n: number): string {
  const d = parseDay(day)
  d.setUTCDate(d.getUTCDate() + n)
  return formatDay(d)
}

// addMonths keeps the day of the month, or uses the last day of a shorter month.
export function addMonths(day: string, n: number): string {
  const d = parseDay(day)
  const want = d.getUTCDate()
  d.setUTCDate(1)
  d.setUTCMonth(d.getUTCMonth() + n)
  const last = new Date(Date.UTC(d.getUTCFullYear(), d.getUTCMonth() + 1, 0)).getUTCDate()
  d.setUTCDate(Math.min(want, last))
  return formatDay(d)
}

export const daysBetween = (from: string, to: string) => Math.round((parseDay(to).getTime() - parseDay(from).getTime()) / 86_400_000)
export const isDay = (s: string | null | undefined): s is string => !!s && /^\d{4}-\d\d-\d\d$/.test(s) && !isNaN(parseDay(s).getTime()) && formatDay(parseDay(s)) === s
export const monthStart = (day: string) => day.slice(0, 8) + '01'
export const weekStart = (day: string) => addDays(day, -((parseDay(day).getUTCDay() + 6) % 7))

// todayIn returns the current day in a time zone, in UTC if the browser does not know the zone.
export function todayIn(timezone: string, now: Date): string {
  try {
    return new Intl.DateTimeFormat('en-CA', { timeZone: timezone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(now)
  } catch {
    return formatDay(now)
  }
}
