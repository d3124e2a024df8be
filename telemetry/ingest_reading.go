package telemetry

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/ingeststate"
	"github.com/onefold/onefold/telemetry/internal/metric"
)

const (
	MaxValues    = 256 // of one reading
	maxText      = 128 // bytes of a text value
	maxSeq       = 1_000_000_000_000
	maxFromFirst = 24 * time.Hour
)

// plausibleFrom is the earliest credible time. Clocks that were never set show 1970 or 1980.
var plausibleFrom = time.Date(1990, 1, 2, 0, 0, 0, 0, time.UTC)

// rejection is why a reading is rejected.
type rejection struct {
	reason Reason
	detail string
	after  time.Duration
}

func reject(reason Reason, format string, args ...any) *rejection {
	return &rejection{reason: reason, detail: fmt.Sprintf(format, args...)}
}

// readingOf returns the fact for an incoming reading, and the values beyond the device's limit of
// metrics. If a reading is rejected for its time, Disc is set, for the quarantine.
func (s *deviceState) readingOf(in *Incoming, now time.Time) (r Reading, excess []Omitted, rejected *rejection) {
	switch {
	case s == nil, !s.isOf(in.FleetID):
		return r, nil, reject(UnknownDevice, "there is no device %q", shorten(in.DeviceID))
	case !s.device.Status.Sends():
		return r, nil, reject(NotInService, "the device is %s", s.device.Status)
	}
	if rejected = in.checkNumber(); rejected != nil {
		return r, nil, rejected
	}
	if rejected = s.checkValues(in); rejected != nil {
		return r, nil, rejected
	}
	at := in.At.UTC().Truncate(time.Millisecond)
	if in.At.IsZero() {
		at = now.UTC().Truncate(time.Millisecond)
	}
	r = Reading{
		Key: ReadingKey{DeviceID: in.DeviceID, At: at, Disc: discOf(in)}, FleetID: s.device.FleetID, Made: s.device.CreatedAt.Unix(), Arrived: now.UnixMilli(),
		Values: in.Values, Fine: s.fleet.TenMinutes,
	}
	if rejected = s.checkTime(&r, in.Imported, now); rejected != nil {
		return r, nil, rejected
	}
	if excess, rejected = s.allow(&r, in.Imported, now); rejected != nil {
		return r, nil, rejected
	}
	r.ZoneMinutes = s.zone.Minutes(at)
	r.Past = in.Imported || now.Sub(at) > s.profile.Clock.past()
	r.Quiet = ingeststate.Quiet(&s.entry.sends, at.UnixMilli(), r.Values, now, s.statusEvery, r.Past)
	s.classify(&r)
	return r, excess, nil
}

// checkTime applies the profile's clock policy and sets the reading's expiry.
func (s *deviceState) checkTime(r *Reading, imported bool, now time.Time) *rejection {
	clock, raw := &s.profile.Clock, s.fleet.Retention.Raw()
	ahead, age := r.At.Sub(now), now.Sub(r.At)
	r.ExpiresAt = r.At.Add(raw)
	switch {
	case r.At.Before(plausibleFrom) || ahead > maxFromFirst || r.At.Year() > 9999:
		return reject(ClockImplausible, "time %s is not plausible", r.At.Format(time.RFC3339))
	case ahead > clock.future():
		return reject(ClockAhead, "the device's clock is %s ahead", ahead.Round(time.Second))
	case imported:
		r.ExpiresAt = latest(r.ExpiresAt, now.Add(raw))
		return nil
	case age <= clock.late():
		return nil
	}
	r.Late, r.Correction = true, clock.Late == LateCorrect
	switch expired := age >= raw; {
	case clock.Late == LateReject:
		return reject(TooLate, "the reading is %s late; the profile rejects readings more than %s late", age.Round(time.Second), clock.late())
	case expired && !r.Correction:
		return reject(Expired, "the reading is %s old, but readings are kept for %s", age.Round(time.Second), raw)
	case expired:
		r.ExpiresAt = now.Add(raw)
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// checkValues rejects a reading without valid values, or one that contradicts its profile.
func (s *deviceState) checkValues(in *Incoming) *rejection {
	switch {
	case len(in.Values) == 0 && len(in.Omitted) > 0:
		return reject(in.Omitted[0].Reason, "%s", in.Omitted[0].Detail)
	case len(in.Values) == 0:
		return reject(NoValues, "the reading has no values")
	case len(in.Values) > MaxValues:
		return reject(TooManyValues, "%d values: use at most %d", len(in.Values), MaxValues)
	}
	for name, v := range in.Values {
		if rejected := s.checkValue(name, v, in.Units[name]); rejected != nil {
			return rejected
		}
	}
	return nil
}

// faultOf returns why a value can never be stored under a name, regardless of the profile.
func (s *deviceState) faultOf(name string, v Value) *rejection {
	switch {
	case !metric.Valid(name):
		return reject(BadMetric, "metric %q: use 1 to %d bytes of letters, digits and . _ - / : and spaces (not at either end)", shorten(name), metric.MaxBytes)
	case v.IsText() && (v.String() == "" || len(v.String()) > maxText || !utf8.ValidString(v.String())):
		return reject(BadValue, "metric %q: use text of 1 to %d bytes of UTF-8", name, maxText)
	case s.metrics[name] == nil && v.IsText() && decimalsum.IsNoNumber(v.String()):
		return reject(BadValue, "metric %q: %q is not a number", name, v.String())
	}
	return nil
}

// checkValue compares a value with the device's profile.
func (s *deviceState) checkValue(name string, v Value, unit string) *rejection {
	def := s.metrics[name]
	switch {
	case def == nil:
		return nil
	case def.Kind != State && !v.IsNumber():
		return reject(WrongKind, "metric %q is a %s: %q is not a number", name, def.Kind, shorten(v.String()))
	case unit != "" && def.Unit != "" && unit != def.Unit:
		return reject(WrongUnit, "metric %q is in %q, not in %q", name, def.Unit, shorten(unit))
	}
	if def.bounded && v.IsNumber() {
		d := v.Decimal()
		if def.Min != "" && d.Cmp(&def.least) < 0 || def.Max != "" && d.Cmp(&def.most) > 0 {
			return reject(Implausible, "metric %q: %s is not between %q and %q", name, v.String(), def.Min, def.Max)
		}
	}
	return nil
}

// classify records what the folds need to know: which values are counters, states or retracted.
func (s *deviceState) classify(r *Reading) {
	for name, v := range r.Values {
		if def := s.metrics[name]; def != nil && v.IsNumber() {
			switch def.Kind {
			case Counter:
				r.Counters = append(r.Counters, name)
			case State:
				r.States = append(r.States, name)
			}
		}
	}
	slices.Sort(r.Counters)
	slices.Sort(r.States)
	r.Void = voidOf(s.retractions, r)
}

// voidOf returns the names of a reading's retracted values; "*" means all.
func voidOf(retractions []Retraction, r *Reading) (void []string) {
	for i := range retractions {
		w := &retractions[i]
		if !w.covers(r.At) {
			continue
		}
		if len(w.Metrics) == 0 {
			return []string{allMetrics}
		}
		for _, name := range w.Metrics {
			if _, there := r.Values[name]; there && !slices.Contains(void, name) {
				void = append(void, name)
			}
		}
	}
	slices.Sort(void)
	return void
}

// allMetrics means all values in Reading.Void. It is not a valid metric name.
const allMetrics = "*"

// metricDef is a MetricDef with parsed limits.
type metricDef struct {
	MetricDef
	bounded     bool
	least, most decimalsum.Decimal
}

func readMetric(m MetricDef) *metricDef {
	d := &metricDef{MetricDef: m, bounded: m.Min != "" || m.Max != ""}
	d.least, _ = decimalsum.Parse(m.Min) // both were validated when the profile was stored; "" means no limit
	d.most, _ = decimalsum.Parse(m.Max)
	return d
}
