package devices_test

import (
	"math/big"
	"net/url"
	"slices"
	"time"
)

// compareAlerts compares the alerts of a device with the episodes in which it was hot.
func (d *days) compareAlerts(g *gadget) {
	d.Helper()
	type episode struct{ Since, ResolvedAt time.Time }
	var want, got []episode
	fires := false
	for _, p := range g.points("temp") {
		switch hot := number(p.value); {
		case !fires && hot.Cmp(big.NewRat(100, 1)) > 0:
			want, fires = append(want, episode{Since: p.at}), true
		case fires && hot.Cmp(big.NewRat(95, 1)) <= 0 && p.at.After(want[len(want)-1].Since): // no alert ends in the millisecond in which it began
			want[len(want)-1].ResolvedAt, fires = p.at, false
		}
	}
	for cursor := ""; ; {
		var page struct {
			Alerts []struct {
				episode
				Rule      string
				Withdrawn bool
			}
			Cursor string
		}
		d.answer("/alerts?state=all&limit=1000&device="+g.id+"&cursor="+url.QueryEscape(cursor), &page)
		for _, a := range page.Alerts {
			if a.Rule == "hot" && !a.Withdrawn {
				got = append(got, a.episode)
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	slices.SortFunc(got, func(a, b episode) int { return a.Since.Compare(b.Since) })
	if !slices.Equal(got, want) {
		d.Errorf("%s: %d alerts %v\nwant %d %v", g.id, len(got), got, len(want), want)
	}
}
