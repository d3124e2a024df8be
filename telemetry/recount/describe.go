package recount

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/internal/figures"
)

func kindOf(stored, wanted bool) DifferenceKind {
	switch {
	case !stored:
		return Missing
	case !wanted:
		return Extra
	}
	return Wrong
}

// describe describes the difference of an aggregate.
func describe(d *telemetry.Difference) Difference {
	k := d.Stored.AggregateKey
	of := Difference{Part: partOf[k.Period], Device: k.DeviceID, Start: k.Start, Kind: kindOf(d.Stored.Readings != 0, d.Want.Readings != 0)}
	if of.Kind != Missing {
		of.Stored = describeAggregate(&d.Stored, &d.Want)
	}
	if of.Kind != Extra {
		of.Want = describeAggregate(&d.Want, &d.Stored)
	}
	return of
}

// describeAggregate describes the counts of an aggregate that differ from another.
func describeAggregate(a, other *telemetry.Aggregate) string {
	parts := []string{fmt.Sprintf("%d readings", a.Readings)}
	if a.Readings == 1 {
		parts[0] = "1 reading"
	}
	if a.Late != other.Late {
		parts = append(parts, fmt.Sprintf("%d late", a.Late))
	}
	if a.Corrections != other.Corrections {
		parts = append(parts, fmt.Sprintf("%d corrections", a.Corrections))
	}
	if a.Latest != other.Latest && other.Latest != 0 {
		parts = append(parts, "last arrival "+moment(a.Latest))
	}
	if a.RawUntil != other.RawUntil && other.RawUntil != 0 {
		parts = append(parts, "readings kept until "+moment(a.RawUntil*1000))
	}
	for i := range a.Metrics {
		m := &a.Metrics[i]
		j := slices.IndexFunc(other.Metrics, func(o bucket.Metric) bool { return o.Name == m.Name && o.Kind == m.Kind })
		switch {
		case j < 0:
			parts = append(parts, describeMetric(m))
		case digest(m) != digest(&other.Metrics[j]):
			text := describeMetric(m)
			if text == describeMetric(&other.Metrics[j]) {
				text += fmt.Sprintf(", distribution %08x", digest(m))
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

func describeMetric(m *bucket.Metric) string {
	f := figures.Of(m)
	text := fmt.Sprintf("%s: count %d", f.Metric, f.Count)
	for _, one := range []struct{ name, value string }{
		{"sum", f.Sum}, {"min", f.Min}, {"max", f.Max}, {"first", f.First}, {"last", f.Last}, {"deviation", f.Deviation}, {"median", f.P50}, {"increase", f.Increase},
	} {
		if one.value != "" {
			text += fmt.Sprintf(", %s %s", one.name, one.value)
		}
	}
	return text
}

// digest returns a hash of a metric's state.
func digest(m *bucket.Metric) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(bucket.Metrics{*m}.Append(nil)) // a hash.Hash never returns an error
	return h.Sum32()
}

// describeStatuses describes the difference of two statuses.
func describeStatuses(is, want *telemetry.Status) (stored, wanted string) {
	var a, b []string
	say := func(name, x, y string) {
		if x != y {
			a, b = append(a, name+" "+x), append(b, name+" "+y)
		}
	}
	value := func(l telemetry.Latest, name string) string {
		v, there := l[name]
		if !there {
			return "none"
		}
		return v.Value.String() + " at " + moment(v.At)
	}
	names := maps.Clone(is.Values)
	if names == nil {
		names = make(telemetry.Latest)
	}
	maps.Copy(names, want.Values)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		say(name, value(is.Values, name), value(want.Values, name))
	}
	say("last seen", moment(is.LastSeen), moment(want.LastSeen))
	say("connectivity", string(is.Connectivity), string(want.Connectivity))
	return strings.Join(a, "; "), strings.Join(b, "; ")
}

// moment formats a time in epoch milliseconds; 0 means never.
func moment(ms int64) string {
	if ms == 0 {
		return "never"
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)
}

// shorten cuts one side of a difference to maxListing bytes.
func shorten(s string) string {
	if len(s) <= maxListing {
		return s
	}
	return strings.ToValidUTF8(s[:maxListing], "") + "…"
}
