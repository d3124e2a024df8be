-- view: what devices measured, one row for each reading and metric
SELECT
  fleet, -- fleet VARCHAR: id of the fleet; a part of files' paths, so asking for one reads only its files
  date, -- date DATE: day of the reading in UTC; a part of files' paths, so asking for some reads only theirs
  time, -- time TIMESTAMP WITH TIME ZONE: when it was measured
  CAST(make_timestamp((epoch_ms(time) + 60000 * zone_minutes) * 1000) AS DATE) AS day, -- day DATE: day of the reading in the device's time zone
  make_timestamp((epoch_ms(time) + 60000 * zone_minutes) * 1000) AS local_time, -- local_time TIMESTAMP: when it was measured, by the clock of the device
  device_id, -- device_id VARCHAR: the device
  metric, -- metric VARCHAR: what was measured
  kind, -- kind VARCHAR: gauge, counter or state
  number, -- number DOUBLE: value of a gauge or counter, as near as a double can be; else NULL
  "decimal", -- decimal VARCHAR: the exact digits of that value; else NULL
  text, -- text VARCHAR: value of a state that is a text; else NULL
  bool, -- bool BOOLEAN: value of a state that is true or false; else NULL
  void, -- void BOOLEAN: it was taken back
  late, -- late BOOLEAN: it came late
  correction, -- correction BOOLEAN: it corrects another of the same time
  disc, -- disc VARCHAR: tells readings of one device and time from each other
  zone_minutes, -- zone_minutes INTEGER: the device's offset from UTC at that time
  arrived_at -- arrived_at TIMESTAMP WITH TIME ZONE: when it came
FROM {files}
