package telemetry

import (
	"maps"
	"slices"

	"github.com/onefold/onefold/telemetry/internal/metric"
)

// nameMetrics resolves the tags of a reading. Tags in the fleet's PropertyTags become text values,
// others part of the metric names. It clears Tags, so it is idempotent.
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
