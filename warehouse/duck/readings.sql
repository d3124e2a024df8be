-- view: readings of devices, one row per reading and metric
SELECT
  fleet, -- fleet VARCHAR: fleet ID; part of the file paths, so a filter on it reads only matching files
  date, -- date DATE: day of the reading in UTC; part of the file paths, so a filter on it reads only matching files
  time, -- time TIMESTAMP WITH TIME ZONE: time of measurement
  CAST(make_timestamp((epoch_ms(time) + 60000 * zone_minutes) * 1000) AS DATE) AS day, -- day DATE: day of the reading in the device's time zone
  make_timestamp((epoch_ms(time) + 60000 * zone_minutes) * 1000) AS local_time, -- local_time TIMESTAMP: time of measurement in the device's time zone
  device_id, -- device_id VARCHAR: device ID
  metric, -- metric VARCHAR: name of the metric
  kind, -- kind VARCHAR: gauge, counter or state
  number, -- number DOUBLE: value of a gauge or counter, rounded to a double; else NULL
  "decimal", -- decimal VARCHAR: exact decimal value of a gauge or counter; else NULL
  text, -- text VARCHAR: value of a state that is text; else NULL
  bool, -- bool BOOLEAN: value of a state that is true or false; else NULL
  void, -- void BOOLEAN: whether the reading was withdrawn
  late, -- late BOOLEAN: whether the reading arrived late
  correction, -- correction BOOLEAN: whether the reading corrects another of the same time
  disc, -- disc VARCHAR: discriminator of readings with the same device and time
  zone_minutes, -- zone_minutes INTEGER: UTC offset of the device at that time, in minutes
  arrived_at -- arrived_at TIMESTAMP WITH TIME ZONE: time of arrival
FROM {files}
