package duck

import (
	"slices"
	"testing"

	"github.com/onefold/onefold/analytics"
)

func TestTraitsAreInViews(t *testing.T) {
	for _, v := range Views() {
		if v.Name != "events" && v.Name != "sessions" {
			continue
		}
		for _, d := range analytics.TraitDefs {
			if !slices.Contains(v.Columns, Column{string(d.Name), "VARCHAR", d.Meaning}) {
				t.Errorf("the view %s has no column %s", v.Name, d.Name)
			}
		}
	}
}
