-- view: events with their session (visit), without page measurements
-- Visits are exactly those of analytics/internal/visits. Within a visitor's day, each session ID of the sender is a visit,
-- for the 24 smallest IDs; all others share one visit. Events without a session ID belong to one visit as long as they are
-- less than half an hour apart.
WITH steps AS (
  SELECT
    *,
    lag(client_session) OVER days IS DISTINCT FROM client_session
      OR client_session = '' AND epoch_ms(time) - epoch_ms(lag(time) OVER days) >= 1800000 AS begins
  FROM events
  WHERE name NOT IN ('engagement', 'vitals')
  WINDOW days AS (PARTITION BY site, visitor_shard, visitor_id, day ORDER BY client_session, event_id)
), numbered AS (
  SELECT
    *,
    count(*) FILTER (begins) OVER days AS nth,
    count(*) FILTER (begins AND client_session <> '') OVER days AS own
  FROM steps
  WINDOW days AS (PARTITION BY site, visitor_shard, visitor_id, day ORDER BY client_session, event_id ROWS UNBOUNDED PRECEDING)
)
SELECT
  CASE WHEN own > 24 THEN 0 ELSE nth END AS visit, -- visit BIGINT: number of the visit within (visitor_id, visitor_shard, day), in no particular order
  * EXCLUDE (begins, nth, own) -- * EVENTS: the columns of events
FROM numbered
