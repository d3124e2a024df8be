-- view: events of aggregates of the event store
SELECT
  type, -- type VARCHAR: of the event; a part of files' paths, so asking for one reads only its files
  date, -- date DATE: day on which it was recorded in UTC; a part of files' paths, so asking for some reads only theirs
  time, -- time TIMESTAMP WITH TIME ZONE: when it was recorded
  occurred_at, -- occurred_at TIMESTAMP WITH TIME ZONE: when it happened
  event_id, -- event_id VARCHAR: its id
  aggregate_type, -- aggregate_type VARCHAR: kind of aggregate
  aggregate_id, -- aggregate_id VARCHAR: the aggregate that it is of
  seq, -- seq BIGINT: its number among the events of the aggregate, from 1
  schema, -- schema INTEGER: version of its data
  TRY_CAST(data AS JSON) AS data, -- data JSON: what it says: data->>'total'; sealed personal fields stay sealed; NULL where it is no JSON
  data AS text, -- text VARCHAR: the same as text; NULL where it is binary
  "binary", -- binary BLOB: what it says, where that is no text
  correlation_id, -- correlation_id VARCHAR: what it belongs to
  causation_id, -- causation_id VARCHAR: what caused it
  actor, -- actor VARCHAR: who did it
  tenant, -- tenant VARCHAR: for whom
  CAST(nullif(metadata, '') AS JSON) AS metadata, -- metadata JSON: what else was noted; NULL: nothing
  commit_id, -- commit_id VARCHAR: the append that it was a part of
  nth, -- nth INTEGER: its number in that append
  "of" -- of INTEGER: how many events that append has
FROM {files}
