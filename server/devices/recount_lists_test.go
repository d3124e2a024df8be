package devices_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
)

// shownReading is a reading of a list.
type shownReading struct {
	At     time.Time
	Values map[string]json.RawMessage
}

func (r *shownReading) is(o *reported) bool {
	return r.At.Equal(o.at) && maps.EqualFunc(r.Values, o.values, func(got json.RawMessage, want string) bool { return sameValue(string(got), want) })
}

// compareList compares the list of a device's readings with what it sent, and the latest reading
// with the last of the list.
func (d *days) compareList(g *gadget) {
	d.Helper()
	want := slices.SortedStableFunc(slices.Values(g.sent), func(a, b *reported) int { return a.place().compare(b.place()) })
	left := want
	from := url.QueryEscape(d.Now().Add(-60 * 24 * time.Hour).Format(time.RFC3339))
	for cursor, limit := "", 200+d.random.IntN(800); ; {
		var page struct {
			Readings []shownReading
			Cursor   string
		}
		d.answer(fmt.Sprintf("/devices/%s/readings?limit=%d&from=%s&cursor=%s", g.id, limit, from, url.QueryEscape(cursor)), &page)
		for i := range page.Readings {
			if len(left) == 0 || !page.Readings[i].is(left[0]) {
				d.Fatalf("%s: reading %d of the list is %s, want %v", g.id, len(want)-len(left), page.Readings[i], left[:min(len(left), 2)])
			}
			left = left[1:]
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if len(left) > 0 {
		d.Fatalf("%s: the list ends %d readings too early", g.id, len(left))
	}
	if len(want) > 0 {
		var newest shownReading
		if d.answer("/devices/"+g.id+"/latest", &newest); !newest.is(want[len(want)-1]) {
			d.Errorf("%s: the latest reading is %s, want %v", g.id, newest, want[len(want)-1])
		}
	}
}

// compareLatest compares the latest value of each metric.
func (d *days) compareLatest(g *gadget) {
	d.Helper()
	var shown shownDevice
	d.answer("/devices/"+g.id, &shown)
	if names := g.metrics(); !slices.Equal(slices.Sorted(maps.Keys(shown.Latest)), names) {
		d.Errorf("%s: latest values are %v, want those of %v", g.id, shown.Latest, names)
	}
	for name, v := range shown.Latest {
		all := g.measured(name) // retracted values were measured all the same
		if newest := all[len(all)-1]; !v.At.Equal(newest.at) || !sameValue(string(v.Value), newest.value) {
			d.Errorf("%s: the latest %s is %s at %s, want %v", g.id, name, v.Value, v.At, newest)
		}
	}
}
