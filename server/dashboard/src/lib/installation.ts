// What the report of a page says about the tracker, in sentences.

import type { Installation, Site } from './api'

export interface Finding { good: boolean; text: string }

// pageOf returns the address of a page with the parameter of a check, or undefined if it is not one of the web.
export function pageOf(page: string, parameter: string): string | undefined {
  let url: URL
  try {
    url = new URL(/^[a-z]+:/i.test(page) ? page : 'https://' + page)
  } catch {
    return undefined
  }
  if (!/^https?:$/.test(url.protocol)) return undefined
  url.searchParams.set('onefold', parameter)
  return url.href
}

const reasons: Record<string, string> = {
  wrong_domain: 'The host is not one of the site’s domains. Add it under Settings, General.',
  excluded: 'The site’s exclusions match this page or your address.',
  opted_out: 'Your browser sends Do Not Track or Global Privacy Control, which the site respects.',
  bot: 'The server takes your browser for a bot.',
  data_center: 'Your address is in a data center, which the site does not count.',
  unknown_site: 'The server has no site with this ID.',
}

// findings returns what a report shows, most important first.
export function findings(site: Site, report: NonNullable<Installation['report']>): Finding[] {
  const found: Finding[] = [{ good: true, text: `The tracker runs on ${report.host || 'the page'}${report.package ? ', as the npm package' : ''}, and reaches the server.` }]
  if (report.site !== site.id) found.push({ good: false, text: `The tag has the site ID “${report.site}”. This site is “${site.id}”.` })
  if (report.status === 'rejected') found.push({ good: false, text: reasons[report.reason ?? ''] ?? `Events are rejected: ${report.detail || report.reason}.` })
  if (report.ignored) found.push({ good: false, text: 'This browser is excluded. Open a page with ?onefold=count to count it again.' })
  if (report.refused) found.push({ good: false, text: 'The tag respects Do Not Track or Global Privacy Control, which your browser sends.' })
  if (found.length === 1) found.push({ good: true, text: 'Page views from this browser are counted.' })
  return found
}
