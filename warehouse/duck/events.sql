-- view: page views, custom events and page measurements, one row each
-- DuckDB casts the dictionary of a column as a whole, and NULL can be '' in it, hence nullif.
SELECT
  site, -- site VARCHAR: site ID; part of the file paths, so a filter on it reads only matching files
  date, -- date DATE: day of the event in UTC; part of the file paths, so a filter on it reads only matching files
  time, -- time TIMESTAMP WITH TIME ZONE: time of the event, to the millisecond
  CAST(make_timestamp((epoch_ms(time) + 60000 * zone_minutes) * 1000) AS DATE) AS day, -- day DATE: day of the event in the site's time zone, by which statistics count
  make_timestamp((epoch_ms(time) + 60000 * zone_minutes) * 1000) AS local_time, -- local_time TIMESTAMP: time of the event in the site's time zone
  event_id, -- event_id VARCHAR: event ID, a ULID; IDs sort by time
  kind, -- kind VARCHAR: pageview or event
  name, -- name VARCHAR: name of a custom event; empty for a page view. engagement and vitals are measurements and not part of a visit
  path, -- path VARCHAR: path of the page
  hostname, -- hostname VARCHAR: hostname of the page
  visitor_id, -- visitor_id VARCHAR: visitor ID; it changes every day, so that a visitor cannot be tracked across days
  visitor_shard, -- visitor_shard INTEGER: shard of the visitor ID; (visitor_id, visitor_shard, day) identifies a visitor's day
  user_id, -- user_id VARCHAR: ID of an identified user
  session_id AS client_session, -- client_session VARCHAR: session ID of the sender, if it has sessions of its own
{traits}
  CAST(nullif(properties, '') AS JSON) AS properties, -- properties JSON: properties of the event: properties->>'plan'; NULL: none
  CAST(nullif(counted, '') AS JSON) AS counted, -- counted JSON: names of the properties that statistics count; NULL: none
  CAST(nullif(goals, '') AS JSON) AS goals, -- goals JSON: goals that the event reaches; NULL: none. See conversions
  CAST(nullif(revenue, '') AS DECIMAL(38, 6)) AS revenue, -- revenue DECIMAL(38,6): exact revenue in the site's currency; NULL: none
  CAST(nullif(paid, '') AS DECIMAL(38, 6)) AS paid, -- paid DECIMAL(38,6): what the revenue was converted from, in paid_currency; NULL: it was not converted
  nullif(paid_currency, '') AS paid_currency, -- paid_currency VARCHAR: ISO 4217 code; NULL: the site's currency
  coalesce(unconverted, false) AS unconverted, -- unconverted BOOLEAN: there was no exchange rate for paid_currency, so revenue is NULL
  engaged_ms, -- engaged_ms BIGINT: engagement time of the page in milliseconds; only events named engagement
  scroll, -- scroll INTEGER: maximum scroll depth of the page in percent; only events named engagement
  lcp, -- lcp DOUBLE: largest contentful paint in milliseconds; only events named vitals
  inp, -- inp DOUBLE: interaction to next paint in milliseconds; only events named vitals
  cls, -- cls DOUBLE: cumulative layout shift; only events named vitals
  zone_minutes, -- zone_minutes INTEGER: UTC offset of the site at that time, in minutes
  arrived_at -- arrived_at TIMESTAMP WITH TIME ZONE: time of arrival, if more than a day after the event; else NULL
FROM {files}
