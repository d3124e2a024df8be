package telemetry

// Reason is a stable code for why a reading was rejected.
type Reason string

const (
	UnknownDevice    Reason = "unknown_device"
	NotInService     Reason = "not_in_service" // the device's status does not allow sending
	NoValues         Reason = "no_values"
	TooManyValues    Reason = "too_many_values"
	BadMetric        Reason = "bad_metric"        // invalid metric name
	BadValue         Reason = "bad_value"         // not a number, out of range, or too long
	WrongKind        Reason = "wrong_kind"        // a text for a numeric metric of the profile
	WrongUnit        Reason = "wrong_unit"        // a unit other than the profile's
	Implausible      Reason = "implausible"       // outside the profile's Min and Max
	TooManyMetrics   Reason = "too_many_metrics"  // more distinct names than the fleet allows a device
	TooFast          Reason = "too_fast"          // more readings than the fleet allows a device: retry later
	ClockAhead       Reason = "clock_ahead"       // quarantined
	ClockImplausible Reason = "clock_implausible" // quarantined
	TooLate          Reason = "too_late"          // the profile rejects late readings
	Expired          Reason = "expired"           // older than the retention of raw readings
	TooLarge         Reason = "too_large"
)
