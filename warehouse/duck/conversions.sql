-- view: goals that sessions reached, one row for each session and goal
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
  site, -- site VARCHAR: id of the site
  day, -- day DATE: of the session in the site's time zone
  goal, -- goal VARCHAR: id of the goal
  session_id, -- session_id VARCHAR: the session
  visitor_day, -- visitor_day VARCHAR: the visitor's day
  CAST(conversions AS BIGINT) AS conversions, -- conversions BIGINT: how often it counts as reached
  CASE WHEN value = '' THEN revenue ELSE CAST(conversions * CAST(value AS DECIMAL(21, 6)) AS DECIMAL(38, 6)) END AS revenue, -- revenue DECIMAL(38,6): what that is worth, by the goal's value or that of its events
  source, -- source VARCHAR: where the session came from
  country, -- country VARCHAR: where the session came from
  entry_page -- entry_page VARCHAR: of the session
FROM worth
