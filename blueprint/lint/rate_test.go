package lint_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint/cost"
	"github.com/onefold/onefold/blueprint/lint"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Keys that a rate would heat are found, those below half of a partition's capacity are not, and
// each gets a remedy that applies to it.
func TestCheckRate(t *testing.T) {
	for _, c := range []struct {
		schema *table.Schema
		rate   lint.Rate
		entity string // the hottest; "" for none
		says   string
	}{
		{analytics.Schema, lint.Rate{EventsPerDay: 1e6, Peak: 4}, "", ""},
		{analytics.Schema, lint.Rate{EventsPerDay: 1e9, Peak: 4}, "analytics.block", "onefold site reshard SITE 9"},
		{analytics.Schema, lint.Rate{EventsPerDay: 1e9, Peak: 0.1}, "analytics.block", "onefold site reshard SITE"},
		{telemetry.Schema, lint.Rate{EventsPerDay: 1440, Peak: 4}, "", ""},
		{eventstore.Schema, lint.Rate{EventsPerDay: 100_000, Peak: 1}, "", ""},
		{eventstore.Schema, lint.Rate{EventsPerDay: 2e7, Peak: 4}, "eventstore.head", "divide the events"},
	} {
		found, err := lint.CheckRate(c.schema, c.rate)
		if err != nil {
			t.Fatal(err)
		}
		if c.entity == "" {
			if len(found) > 0 {
				t.Errorf("%s at %+v: %v", c.schema.Name(), c.rate, found)
			}
			continue
		}
		if len(found) == 0 || found[0].Entity != c.entity || !strings.Contains(found[0].Fix, c.says) || found[0].Allowed != "" {
			t.Errorf("%s at %+v: %v", c.schema.Name(), c.rate, found)
		}
	}
	for _, r := range []lint.Rate{{}, {EventsPerDay: -1}, {EventsPerDay: math.NaN()}, {EventsPerDay: math.Inf(1)}, {EventsPerDay: 1, Peak: math.Inf(1)}, {EventsPerDay: 1, Peak: math.NaN()}} {
		if _, err := lint.CheckRate(analytics.Schema, r); !errors.Is(err, cost.ErrOptions) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
