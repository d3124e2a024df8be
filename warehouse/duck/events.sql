-- view: page views, custom events and measurements of pages, one row each
-- What is NULL may be '' in a dictionary of the file, which DuckDB casts as a whole, hence nullif.
SELECT
  site, -- site VARCHAR: id of the site; a part of files' paths, so asking for one reads only its files
  date, -- date DATE: day of the event in UTC; a part of files' paths, so asking for some reads only theirs
  time, -- time TIMESTAMP WITH TIME ZONE: when it happened, to the millisecond
  CAST(make_timestamp((epoch_ms(time) + 60000 * zone_minutes) * 1000) AS DATE) AS day, -- day DATE: day of the event in the site's time zone, by which statistics count
  make_timestamp((epoch_ms(time) + 60000 * zone_minutes) * 1000) AS local_time, -- local_time TIMESTAMP: when it happened, by the clock of the site
  event_id, -- event_id VARCHAR: its id, a ULID: the order of ids is that of time
  kind, -- kind VARCHAR: pageview or event
  name, -- name VARCHAR: of a custom event, empty for a page view; engagement and vitals are measurements and no part of a visit
  path, -- path VARCHAR: of the page
  hostname, -- hostname VARCHAR: that the page was on
  visitor_id, -- visitor_id VARCHAR: the visitor; another one every day, so visitors of two days cannot be linked
  visitor_shard, -- visitor_shard INTEGER: no meaning; a visitor's day is one of (visitor_id, visitor_shard, day)
  user_id, -- user_id VARCHAR: the user as the site identifies him, if it does
  session_id AS client_session, -- client_session VARCHAR: the sender's own session, if it keeps some
  referrer, -- referrer VARCHAR: address of the page before
  source, -- source VARCHAR: where the visitor came from
  channel, -- channel VARCHAR: kind of source
  utm_source, -- utm_source VARCHAR: of the campaign
  utm_medium, -- utm_medium VARCHAR: of the campaign
  utm_campaign, -- utm_campaign VARCHAR: of the campaign
  utm_term, -- utm_term VARCHAR: of the campaign
  utm_content, -- utm_content VARCHAR: of the campaign
  country, -- country VARCHAR: ISO 3166-1 alpha-2
  region, -- region VARCHAR: where the visitor is
  city, -- city VARCHAR: where the visitor is
  browser, -- browser VARCHAR: that shows the page
  os, -- os VARCHAR: operating system
  device, -- device VARCHAR: kind of device
  screen, -- screen VARCHAR: width and height
  language, -- language VARCHAR: of the browser
  CAST(nullif(properties, '') AS JSON) AS properties, -- properties JSON: of the event, texts by name: properties->>'plan'; NULL: none
  CAST(nullif(counted, '') AS JSON) AS counted, -- counted JSON: names of those properties that statistics count; NULL: none
  CAST(nullif(goals, '') AS JSON) AS goals, -- goals JSON: goals of the site that it reaches; NULL: none. See conversions
  CAST(nullif(revenue, '') AS DECIMAL(38, 6)) AS revenue, -- revenue DECIMAL(38,6): exact, in the site's currency; NULL: none
  engaged_ms, -- engaged_ms BIGINT: attention that the page had, milliseconds; of events named engagement
  scroll, -- scroll INTEGER: how far down the page was seen, percent; of events named engagement
  lcp, -- lcp DOUBLE: largest contentful paint, milliseconds; of events named vitals
  inp, -- inp DOUBLE: interaction to next paint, milliseconds; of events named vitals
  cls, -- cls DOUBLE: cumulative layout shift; of events named vitals
  zone_minutes, -- zone_minutes INTEGER: the site's offset from UTC at that time
  arrived_at -- arrived_at TIMESTAMP WITH TIME ZONE: when it came, if more than a day late; else NULL
FROM {files}
