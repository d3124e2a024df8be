package infra

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/onefold/onefold/table"
)

// maxFilters is the default maximum number of filter patterns of an event source.
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html
const maxFilters = 5

// filterPatterns returns the patterns of the event source: one for new images, one for old ones.
func (o *Options) filterPatterns() []string {
	sources := slices.Sorted(slices.Values(o.Sources))
	patterns := make([]string, 0, maxFilters)
	for _, image := range []string{"NewImage", "OldImage"} {
		b, _ := json.Marshal(map[string]any{"dynamodb": map[string]any{image: map[string]any{table.AttrEntity: map[string]any{"S": sources}}}}) // marshaling strings and maps cannot fail
		patterns = append(patterns, string(b))
	}
	return patterns
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
