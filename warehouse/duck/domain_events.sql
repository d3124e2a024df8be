-- view: events of the event store, one row each
SELECT
  type, -- type VARCHAR: event type; part of the file paths, so a filter on it reads only matching files
  date, -- date DATE: day of recording in UTC; part of the file paths, so a filter on it reads only matching files
  time, -- time TIMESTAMP WITH TIME ZONE: time of recording
  occurred_at, -- occurred_at TIMESTAMP WITH TIME ZONE: time of the event
  event_id, -- event_id VARCHAR: event ID
  aggregate_type, -- aggregate_type VARCHAR: aggregate type
  aggregate_id, -- aggregate_id VARCHAR: aggregate ID
  seq, -- seq BIGINT: sequence number in the stream of the aggregate, from 1
  schema, -- schema INTEGER: schema version of the payload
  TRY_CAST(data AS JSON) AS data, -- data JSON: payload: data->>'total'; encrypted personal fields stay encrypted; NULL if it is not JSON
  data AS text, -- text VARCHAR: payload as text; NULL if it is binary
  "binary", -- binary BLOB: payload if it is binary; else NULL
  correlation_id, -- correlation_id VARCHAR: correlation ID
  causation_id, -- causation_id VARCHAR: causation ID
  actor, -- actor VARCHAR: actor, such as a user ID
  tenant, -- tenant VARCHAR: tenant
  CAST(nullif(metadata, '') AS JSON) AS metadata, -- metadata JSON: other metadata; NULL: none
  CAST(CAST(nullif(tags, '') AS JSON) AS VARCHAR[]) AS tags, -- tags VARCHAR[]: tags; NULL: none
  commit_id, -- commit_id VARCHAR: commit ID of the append
  nth, -- nth INTEGER: number of the event in its append
  "of" -- of INTEGER: number of events in the append
FROM {files}
