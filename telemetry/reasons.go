package telemetry

// Reason is the stable code of why a reading was not stored as a reading.
type Reason string

// The reasons.
const (
	UnknownDevice    Reason = "unknown_device"
	NotInService     Reason = "not_in_service" // the device's status is one that does not send
	NoValues         Reason = "no_values"
	TooManyValues    Reason = "too_many_values"
	BadMetric        Reason = "bad_metric"        // a metric's name cannot be used
	BadValue         Reason = "bad_value"         // not a number, out of bounds, or too long
	WrongKind        Reason = "wrong_kind"        // a text where the profile says number
	WrongUnit        Reason = "wrong_unit"        // another unit than the profile's
	Implausible      Reason = "implausible"       // beyond the profile's least and most
	TooManyMetrics   Reason = "too_many_metrics"  // more different names than the fleet allows a device
	TooFast          Reason = "too_fast"          // more readings than the fleet allows a device: try again later
	ClockAhead       Reason = "clock_ahead"       // quarantined
	ClockImplausible Reason = "clock_implausible" // quarantined
	TooLate          Reason = "too_late"          // the profile rejects late readings
	Expired          Reason = "expired"           // older than raw readings are kept
	TooLarge         Reason = "too_large"
)
