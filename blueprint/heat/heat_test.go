package heat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint/heat"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// TestAdviceCoolsAHotKey has a site whose events all go to one partition, which is therefore hot.
// The advice is to spread the events. After that the next burst must not be hot, and events from
// before and after the change must be read together.
func TestAdviceCoolsAHotKey(t *testing.T) {
	now := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	db, err := engine.OpenMemory(engine.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := analytics.Schema.Ensure(t.Context(), db, "site"); err != nil {
		t.Fatal(err)
	}
	tbl := table.New(db, "site", table.Options{Clock: clock})
	site, err := analytics.CreateSite(t.Context(), tbl, analytics.NewSite{ID: "blog", Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	begin := now
	burst := func() []heat.Finding {
		t.Helper()
		send(t, analytics.NewCollector(tbl, analytics.CollectorOptions{}), 900)
		var uses []heat.Use
		for _, k := range db.Metered().Tables["site"].Hottest {
			uses = append(uses, heat.Use{At: now, Key: k.Key, Index: k.Index, PeakReads: k.PeakReads, PeakWrites: k.PeakWrites})
		}
		return heat.Find(analytics.Schema, uses, 0.5)
	}
	hot := burst()
	if len(hot) != 1 || hot[0].Key != "SITE#blog#SHARD#0" || hot[0].Times != 2 || !slices.Contains(hot[0].Entities, "analytics.block") ||
		!strings.HasPrefix(hot[0].Patterns[0], "W1 ") || !strings.Contains(hot[0].Fix, "shards by 2: onefold site reshard blog N") {
		t.Fatalf("hot keys %+v", hot)
	}
	if site, err = analytics.SetShards(t.Context(), tbl, "blog", site.Sharding.At(now)*hot[0].Times*2); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if hot := burst(); len(hot) != 0 {
		t.Errorf("after it was spread: %+v", hot)
	}
	events := 0
	for _, err := range analytics.EventsBetween(&site, begin.Add(-time.Hour), now.Add(time.Hour), "").All(t.Context(), tbl) {
		if err != nil {
			t.Fatal(err)
		}
		events++
	}
	if events != 1800 {
		t.Errorf("%d events are read of 1,800", events)
	}
}

func send(t *testing.T, c *analytics.Collector, n int) {
	t.Helper()
	for i := range n { // one by one, because events that arrive together share an item
		hit := analytics.Hit{Path: "/", UserAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", Address: fmt.Sprintf("192.0.2.%d", i%100)}
		outcomes, err := c.Ingest(t.Context(), "blog", []analytics.Hit{hit})
		if err != nil {
			t.Fatal(err)
		}
		if outcomes[0].Status != analytics.Stored {
			t.Fatalf("outcome %+v", outcomes[0])
		}
	}
}

func TestTemplatesMakeKeys(t *testing.T) {
	for _, c := range []struct {
		template, key string
		makes         bool
	}{
		{"SITE#{siteId}", "SITE#blog", true},
		{"SITE#{siteId}", "SITE#blog#SHARD#1", false},
		{"SITE#{siteId}#SHARD#{shard}", "SITE#blog#SHARD#1", true},
		{"STATUS#{status}[#{shard}]", "STATUS#paid", true},
		{"STATUS#{status}[#{shard}]", "STATUS#paid#3", true},
		{"EVENT#{seqNum:012}", "EVENT#000000000001", true},
		{"FEED", "FEED", true},
		{"FEED", "FEEDS", false},
		{"A.B#{x}", "AxB#1", false},
	} {
		if got := heat.Makes(c.template, c.key); got != c.makes {
			t.Errorf("%s makes %s: %v", c.template, c.key, got)
		}
	}
}

// TestTheClosestTemplateMakesAKey checks that a key is attributed to the template that specifies
// most of it, and not to a template that matches any key.
func TestTheClosestTemplateMakesAKey(t *testing.T) {
	found := heat.Find(table.MustSchema("all", analytics.Schema, telemetry.Schema, alerts.Schema), []heat.Use{{Key: "SITE#blog", PeakReads: 2400}}, 0.5)
	if len(found) != 1 || !slices.Contains(found[0].Entities, "analytics.site") || slices.ContainsFunc(found[0].Entities, func(e string) bool { return !strings.HasPrefix(e, "analytics.") }) {
		t.Errorf("%+v", found)
	}
}

// TestFindings checks that each key at or above the share is reported once, with its worst value,
// hottest first, and that each kind has its own fix.
func TestFindings(t *testing.T) {
	at := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)
	found := heat.Find(analytics.Schema, []heat.Use{
		{At: at, Key: "SITE#blog", PeakReads: 1600}, {At: at.Add(time.Minute), Key: "SITE#blog", PeakReads: 2400}, {Key: "SITE#blog", PeakReads: 2000},
		{Key: "SITE#shop", PeakWrites: 900}, {Key: "SITE#idle", PeakReads: 1500}, {Key: "NOBODYS", PeakWrites: 5000},
		{Key: "SITE#blog#SHARD#0", PeakReads: 1900, PeakWrites: 3}, {Key: "SITE#shop#SHARD#3", PeakReads: 3, PeakWrites: 600},
	}, 0.5)
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintf("%s %.1f ×%d in %d %.12s", f.Key, f.Share, f.Times, f.Periods, f.Fix))
		if f.Spreadable() != (f.Key == "SITE#shop#SHARD#3") {
			t.Errorf("%s is spreadable: %v", f.Key, f.Spreadable())
		}
	}
	if want := []string{"NOBODYS 5.0 ×10 in 1 no entity of", "SITE#shop 0.9 ×2 in 1 write it les", "SITE#blog 0.8 ×2 in 3 cache the an", "SITE#blog#SHARD#0 0.6 ×2 in 1 read fewer d", "SITE#shop#SHARD#3 0.6 ×2 in 1 multiply the"}; !slices.Equal(got, want) {
		t.Errorf("findings %q", got)
	}
}
