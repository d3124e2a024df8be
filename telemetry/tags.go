package telemetry

import (
	"maps"
	"slices"

	"github.com/onefold/onefold/telemetry/internal/metric"
)

// nameMetrics gives the values of a reading that has tags the names of their metrics. A tag that the fleet says to describe its
// devices becomes a value of its own, a text; the others become part of the names. No tags are left, so doing it again changes
// nothing.
func (s *deviceState) nameMetrics(in *Incoming) {
	if len(in.Tags) == 0 {
		return
	}
	labels := metric.Labels(in.Tags, s.fleet.PropertyTags)
	values := maps.Clone(metric.Rename(in.Values, labels))
	if values == nil {
		values = Values{}
	}
	for _, name := range s.fleet.PropertyTags {
		_, measured := values[name]
		if v, there := in.Tags[name]; there && !measured {
			values[name] = Text(v)
		}
	}
	in.Omitted = slices.Clone(in.Omitted)
	for i := range in.Omitted {
		in.Omitted[i].Metric += labels
	}
	in.Values, in.Units, in.Tags = values, metric.Rename(in.Units, labels), nil
}
