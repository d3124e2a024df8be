-- view: sessions (visits), as the statistics count them
SELECT
  site, -- site VARCHAR: id of the site
  day, -- day DATE: of the session in the site's time zone; a session ends with it
  min(event_id) AS session_id, -- session_id VARCHAR: id of its first event, which tells it from all others
  visitor_id, -- visitor_id VARCHAR: whose it is; another one every day
  visitor_id || '.' || visitor_shard || '.' || day AS visitor_day, -- visitor_day VARCHAR: the visitor's day: count(DISTINCT visitor_day) are the visitors of a range
  min(time) AS start, -- start TIMESTAMP WITH TIME ZONE: time of its first event
  max(time) AS "end", -- end TIMESTAMP WITH TIME ZONE: time of its last event
  min(local_time) AS local_start, -- local_start TIMESTAMP: time of its first event, by the clock of the site
  (epoch_ms(max(time)) - epoch_ms(min(time))) // 1000 AS seconds, -- seconds BIGINT: from its first event to its last
  count(*) FILTER (kind = 'pageview') AS pageviews, -- pageviews BIGINT: page views
  count(*) FILTER (kind <> 'pageview') AS events, -- events BIGINT: custom events
  count(*) FILTER (kind = 'pageview') = 1 AND count(*) FILTER (kind <> 'pageview') = 0 AS bounced, -- bounced BOOLEAN: one page and nothing else
  coalesce(arg_min(path, event_id) FILTER (kind = 'pageview'), '') AS entry_page, -- entry_page VARCHAR: path of its first page view
  coalesce(arg_max(path, event_id) FILTER (kind = 'pageview'), '') AS exit_page, -- exit_page VARCHAR: path of its last page view
  coalesce(list_sort(list(DISTINCT path) FILTER (kind = 'pageview' AND path <> '')), []) AS pages, -- pages VARCHAR[]: distinct paths: list_contains(pages, '/pricing')
  coalesce(arg_max(user_id, event_id) FILTER (user_id <> ''), '') AS user_id, -- user_id VARCHAR: the user, by the last event that says it
  coalesce(sum(revenue), 0) AS revenue, -- revenue DECIMAL(38,6): sum of its events'
  coalesce(flatten(list(json_transform(goals, '[{"goal": "VARCHAR", "once": "BOOLEAN", "value": "VARCHAR", "count": "BIGINT", "revenue": "VARCHAR"}]') ORDER BY event_id) FILTER (goals IS NOT NULL)), []) AS goals, -- goals STRUCT[]: what of the site's goals its events reach; see conversions
  arg_min(hostname, event_id) AS hostname, -- hostname VARCHAR: this and what follows are those of its first event
  arg_min(referrer, event_id) AS referrer, -- referrer VARCHAR: address of the page before
  arg_min(source, event_id) AS source, -- source VARCHAR: where the visitor came from
  arg_min(channel, event_id) AS channel, -- channel VARCHAR: kind of source
  arg_min(utm_source, event_id) AS utm_source, -- utm_source VARCHAR: of the campaign
  arg_min(utm_medium, event_id) AS utm_medium, -- utm_medium VARCHAR: of the campaign
  arg_min(utm_campaign, event_id) AS utm_campaign, -- utm_campaign VARCHAR: of the campaign
  arg_min(utm_term, event_id) AS utm_term, -- utm_term VARCHAR: of the campaign
  arg_min(utm_content, event_id) AS utm_content, -- utm_content VARCHAR: of the campaign
  arg_min(country, event_id) AS country, -- country VARCHAR: ISO 3166-1 alpha-2
  arg_min(region, event_id) AS region, -- region VARCHAR: where the visitor is
  arg_min(city, event_id) AS city, -- city VARCHAR: where the visitor is
  arg_min(browser, event_id) AS browser, -- browser VARCHAR: that shows the pages
  arg_min(os, event_id) AS os, -- os VARCHAR: operating system
  arg_min(device, event_id) AS device, -- device VARCHAR: kind of device
  arg_min(screen, event_id) AS screen, -- screen VARCHAR: width and height
  arg_min(language, event_id) AS language -- language VARCHAR: of the browser
FROM session_events
GROUP BY site, day, visitor_shard, visitor_id, visit
