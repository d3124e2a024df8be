package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/engine"
)

func eventID(at time.Time) string {
	return ulid.MustNew(ulid.Timestamp(at), ulid.DefaultEntropy()).String()
}

// done is the response of a round of maintenance.
type done struct{ Failed, Unfinished, Told int }

// The schedule runs due jobs: it rolls up past days, and purges deleted sites. The next invocation
// does the work for which there was no time.
func TestSchedule(t *testing.T) {
	now := time.Now()
	p := newPlace(t, now, engine.Options{})
	for _, site := range []string{"shop", "gone"} {
		_, err := analytics.CreateSite(t.Context(), p.table, analytics.NewSite{ID: site})
		must(t, err)
		hits := make([]analytics.Hit, 50)
		for i := range hits {
			hits[i] = analytics.Hit{At: now.Add(-time.Duration(i) * time.Hour), URL: fmt.Sprint("/", i%7), UserAgent: "Mozilla/5.0", Address: "192.0.2.1", Imported: true}
		}
		_, err = analytics.NewCollector(p.table, analytics.CollectorOptions{}).Ingest(t.Context(), site, hits)
		must(t, err)
	}
	must(t, p.mapping(p.pool("stream"), nil).Drain(t.Context()))
	must(t, erasure.DeleteSite(t.Context(), p.table, "gone"))

	pool := p.pool("schedule")
	pool.Patience = time.Minute // the function ends by itself, however busy the machine is
	round := func(limit time.Duration) (d done) {
		t.Helper()
		answer, err := pool.Invoke(t.Context(), []byte(`{"detail-type":"Scheduled Event","source":"aws.events"}`), limit, nil)
		must(t, err)
		must(t, json.Unmarshal(answer, &d))
		return d
	}
	if d := round(time.Millisecond); d.Unfinished == 0 {
		t.Errorf("with no time it did %+v", d)
	}
	if d := round(time.Minute); d != (done{}) {
		t.Errorf("with time it did %+v", d)
	}
	days := 0
	for s, err := range analytics.StatsByTime.All(t.Context(), p.table, analytics.StatsIn{SiteID: "shop", Period: analytics.Day, From: "2000", To: "3000"}) {
		must(t, err)
		if s.PageViews == 0 {
			t.Errorf("the day is %+v", s)
		}
		days++
	}
	if days < 2 {
		t.Errorf("%d days are rolled up", days)
	}
}
