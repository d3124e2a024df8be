-- view: events with the session (visit) that each is a part of; without measurements of pages
-- Visits are to the unit those of analytics/internal/visits. Of a day of a visitor, events of one session of the sender's are
-- a visit each, for the least 24 of their ids, and all others share one; events without are a visit as long as less than
-- half an hour is between each and the next.
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
  CASE WHEN own > 24 THEN 0 ELSE nth END AS visit, -- visit BIGINT: number of the visit among those of (visitor_id, visitor_shard, day), in no order
  * EXCLUDE (begins, nth, own) -- * EVENTS: the columns of events
FROM numbered
