package telemetry

import "github.com/onefold/onefold/telemetry/internal/dedup"

// Examples for the generated documents, where field names alone do not yield a good example.

func exampleDevice(d *Device) {
	d.Name, d.Type, d.Tags = "Pump "+d.DeviceID[len(d.DeviceID)-1:], "sensor", []string{"cooling"}
}

func exampleSequence(s *Sequence) {
	s.Seen = dedup.All{{At: s.ExpiresAt.Add(-numberedFor).UnixMilli(), Sum: "fYpn4cPEeAI"}}
}

func exampleNumber() Value {
	v, err := Number("21.5")
	if err != nil {
		panic(err) // impossible: a constant number
	}
	return v
}

func exampleValues() Values {
	return Values{"temperature": exampleNumber(), "running": Bool(true)}
}

// exampleQuarantined was sent by a device whose clock was not set.
func exampleQuarantined(q *Quarantined) {
	q.FleetID, q.Values, q.Reason, q.Arrived = "north", exampleValues(), ClockImplausible, q.Claimed.UnixMilli()
}

func exampleAggregate(a *Aggregate) {
	if len(a.Start) > 10 {
		a.Day = a.Start[:10]
	}
	a.FleetID, a.Period, a.Readings, a.Late, a.Corrections = "north", Hourly, 60, 0, 0
}

func exampleStatus(s *Status) {
	s.Values = Latest{"temperature": {At: s.LastSeen, Value: exampleNumber()}}
	if s.Connectivity == Online {
		s.Silent = 0
	}
}

func exampleRule(r *Rule) {
	r.Scope, r.ScopeID, r.Name, r.Over, r.Function, r.For, r.KeepFor, r.Severity = ForProfile, "pump", "Too hot", "", "", 900, 300, Critical
}

func exampleLabel(l *Label) {
	l.Kind, l.Value, l.There = ByStatus, string(Active), true
}

func exampleFleet(f *Fleet) { f.Name = "Fleet " + f.FleetID }

func exampleProfile(p *Profile) { p.Name = "Profile " + p.ProfileID }

func exampleSilence(s *Silence) { s.Of = s.Devices + 3 }
