-- view: goals reached in sessions, one row per session and goal
WITH reached AS (
  SELECT * EXCLUDE (goals), unnest(goals) AS reached FROM sessions
), counted AS (
  SELECT site, day, session_id, visitor_day, source, country, entry_page, reached.goal,
    coalesce(reached.once, false) AS once, coalesce(reached.value, '') AS value,
    greatest(sum(reached.count), 0) AS times,
    coalesce(sum(CAST(nullif(reached.revenue, '') AS DECIMAL(38, 6))), 0) AS revenue
  FROM reached
  GROUP BY ALL
), worth AS (
  SELECT *, CASE WHEN once THEN least(times, 1) ELSE times END AS conversions
  FROM counted
)
SELECT
  site, -- site VARCHAR: site ID
  day, -- day DATE: day of the session in the site's time zone
  goal, -- goal VARCHAR: goal ID
  session_id, -- session_id VARCHAR: session ID
  visitor_day, -- visitor_day VARCHAR: visitor's day; see sessions
  CAST(conversions AS BIGINT) AS conversions, -- conversions BIGINT: number of conversions that count
  CASE WHEN value = '' THEN revenue ELSE CAST(conversions * CAST(value AS DECIMAL(21, 6)) AS DECIMAL(38, 6)) END AS revenue, -- revenue DECIMAL(38,6): value of these conversions: the goal's fixed value or the revenue of its events
  source, -- source VARCHAR: source of the session
  country, -- country VARCHAR: country of the session
  entry_page -- entry_page VARCHAR: entry page of the session
FROM worth
