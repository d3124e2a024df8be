-- view: sessions (visits), as statistics count them
SELECT
  site, -- site VARCHAR: site ID
  day, -- day DATE: day of the session in the site's time zone; sessions end at midnight
  min(event_id) AS session_id, -- session_id VARCHAR: session ID, which is the ID of its first event
  visitor_id, -- visitor_id VARCHAR: visitor ID; it changes every day
  visitor_id || '.' || visitor_shard || '.' || day AS visitor_day, -- visitor_day VARCHAR: visitor's day; count(DISTINCT visitor_day) is the number of visitors in a range
  min(time) AS start, -- start TIMESTAMP WITH TIME ZONE: time of its first event
  max(time) AS "end", -- end TIMESTAMP WITH TIME ZONE: time of its last event
  min(local_time) AS local_start, -- local_start TIMESTAMP: time of its first event in the site's time zone
  (epoch_ms(max(time)) - epoch_ms(min(time))) // 1000 AS seconds, -- seconds BIGINT: seconds from its first event to its last
  count(*) FILTER (kind = 'pageview') AS pageviews, -- pageviews BIGINT: number of page views
  count(*) FILTER (kind <> 'pageview') AS events, -- events BIGINT: number of custom events
  count(*) FILTER (kind = 'pageview') = 1 AND count(*) FILTER (kind <> 'pageview') = 0 AS bounced, -- bounced BOOLEAN: whether it has one page view and nothing else
  coalesce(arg_min(path, event_id) FILTER (kind = 'pageview'), '') AS entry_page, -- entry_page VARCHAR: path of its first page view
  coalesce(arg_max(path, event_id) FILTER (kind = 'pageview'), '') AS exit_page, -- exit_page VARCHAR: path of its last page view
  coalesce(list_sort(list(DISTINCT path) FILTER (kind = 'pageview' AND path <> '')), []) AS pages, -- pages VARCHAR[]: distinct paths: list_contains(pages, '/pricing')
  coalesce(arg_max(user_id, event_id) FILTER (user_id <> ''), '') AS user_id, -- user_id VARCHAR: ID of the identified user, from the last event that has one
  coalesce(sum(revenue), 0) AS revenue, -- revenue DECIMAL(38,6): total revenue of its events
  coalesce(flatten(list(json_transform(goals, '[{"goal": "VARCHAR", "once": "BOOLEAN", "value": "VARCHAR", "count": "BIGINT", "revenue": "VARCHAR"}]') ORDER BY event_id) FILTER (goals IS NOT NULL)), []) AS goals, -- goals STRUCT[]: goals that its events reach; see conversions
  arg_min(hostname, event_id) AS hostname -- hostname VARCHAR: hostname of its first event, like all columns below
{traits}
FROM session_events
GROUP BY site, day, visitor_shard, visitor_id, visit
