package table

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAnnotations(t *testing.T) {
	sites := NewGet[siteKey](goodSites, GetDef{ID: "P1", Question: "a site"})
	tiers := ExpiryOrder("days", Tiers{Tiers: []Tier{{Name: "raw", Keep: 48 * time.Hour}}})
	said := Annotations{
		Callers:   []Caller{{"page", []string{"P1"}}},
		Gaps:      []Gap{{"sites by their n", "an index key of it"}},
		Decisions: []Decision{{"why", "why.md"}},
	}
	inner := MustSchema("inner", sites, said, tiers)
	outer := MustSchema("outer", inner, inner, said, tiers) // a schema is often part of several others
	r := outer.Annotations()
	if len(r.Callers) != 1 || !slices.Equal(r.Callers[0].Patterns, []string{"P1"}) || len(r.Gaps) != 1 || len(r.Decisions) != 1 {
		t.Errorf("annotations %+v", r)
	}
	if o := outer.Orders(); len(o) != 1 || o[0].Name != "days" || o[0].Tiers.Tiers[0].Name != "raw" {
		t.Errorf("orders %+v", o)
	}
	for want, wrong := range map[string]Annotations{
		`caller "page" uses pattern "P9"`: {Callers: []Caller{{"page", []string{"P9"}}}},
		`set a name and patterns`:         {Callers: []Caller{{Name: "page"}}},
		`set Question and Needs`:          {Gaps: []Gap{{Question: "why"}}},
		`a title and a link`:              {Decisions: []Decision{{Title: "why"}}},
	} {
		if _, err := NewSchema("s", sites, wrong); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, not %q", wrong, err, want)
		}
	}
}
