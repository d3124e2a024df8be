package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint/lint"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

type ownerIn struct {
	Owner  string `dynamodbav:"owner"`
	Status string `dynamodbav:"status"`
}

var load = table.Load{PerSecond: 1, Items: 1, ItemBytes: 100}

// TestLints checks that each lint is found in a schema with that fault, and in no other.
func TestLints(t *testing.T) {
	covered := map[string]bool{}
	for name, s := range wrong(t) {
		var ids []string
		for _, f := range lint.Check(s) {
			ids = append(ids, f.Lint)
			if f.What == "" || f.Fix == "" || !strings.Contains(f.String(), f.Lint) {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if !slices.Contains(ids, name) {
			t.Errorf("%s is not found in a schema that shows it: %v", name, ids)
		}
		covered[name] = true
	}
	for _, l := range lint.Lints() {
		if !covered[l.ID] || l.What == "" {
			t.Errorf("no schema shows %s", l.ID)
		}
	}
}

type idKey struct {
	ID    string `dynamodbav:"id"`
	Other string `dynamodbav:"other"`
}

type transfer struct {
	idKey
	Amount int `dynamodbav:"amount"`
}

type momentKey struct {
	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
}

type moment struct {
	momentKey
	Value int `dynamodbav:"value"`
}

type textKey struct {
	Device string `dynamodbav:"device"`
	Stamp  string `dynamodbav:"timestamp"`
}

type textReading struct{ textKey }

type taskKey struct {
	Owner string `dynamodbav:"owner"`
	ID    string `dynamodbav:"id"`
}

type task struct {
	taskKey
	Status   string    `dynamodbav:"status"`
	LastSeen time.Time `dynamodbav:"lastSeen,omitempty"`
	MadeAt   time.Time `dynamodbav:"madeAt"`
}

type statusIn struct {
	Status string `dynamodbav:"status"`
}

type shardKey struct {
	Owner string `dynamodbav:"owner"`
	Shard int    `dynamodbav:"shard"`
	ID    string `dynamodbav:"id"`
}

type sharded struct {
	shardKey
	Kind string `dynamodbav:"kind"`
}

func wrong(t *testing.T) map[string]*table.Schema {
	t.Helper()
	tasks := func(name string, indexes ...table.Index[task]) *table.Entity[task, taskKey] {
		return table.Define[task, taskKey]("test."+name, table.Def[task]{PK: "OWNER#{owner}", SK: "TASK#{id}", Indexes: indexes})
	}
	byStatus := table.Index[task]{Name: "gsi1", PK: "STATUS#{status}", SK: "TASK#{id}"}
	ofStatus := func(e *table.Entity[task, taskKey]) table.Part {
		return table.NewQuery(e, table.QueryDef[statusIn]{ID: "Q", Question: "tasks of a status", Index: "gsi1", Load: load})
	}
	grows, beats, unused := tasks("grows", byStatus), tasks("beats", byStatus), tasks("unused", byStatus)
	twice := tasks("twice", table.Index[task]{Name: "gsi1", PK: "OWNER#{owner}", SK: "STATUS#{status}#{id}"})
	hot := tasks("hot")
	hotOnIndex := tasks("hotindex", byStatus)
	clock := table.Define[task, taskKey]("test.clock", table.Def[task]{PK: "OWNER#{owner}", SK: "TASK#{id}",
		Expires: func(*task) time.Time { return time.Now().AddDate(0, 0, 30) }})
	shards := table.Define[sharded, shardKey]("test.sharded", table.Def[sharded]{PK: "OWNER#{owner}#SHARD#{shard}", SK: "ITEM#{id}"})
	kind := table.FieldOf(shards, func(s *sharded) *string { return &s.Kind })
	much := table.CreateDef{ID: "C", Question: "write much", Load: table.Load{PerSecond: 2000, Items: 1, ItemBytes: 500}}
	return map[string]*table.Schema{
		"growing-index":   table.MustSchema("w", grows, ofStatus(grows)),
		"heartbeat-index": table.MustSchema("w", beats, ofStatus(beats)),
		"unused-index":    table.MustSchema("w", unused),
		"duplicate-index": table.MustSchema("w", twice),
		"hot-partition":   table.MustSchema("w", hot, table.NewCreate(hot, much)),
		"hot-index":       table.MustSchema("w", hotOnIndex, table.NewCreate(hotOnIndex, much)),
		"ttl-from-clock":  table.MustSchema("w", clock),
		"two-ids":         table.MustSchema("w", table.Define[transfer, idKey]("test.transfer", table.Def[transfer]{PK: "TRANSFER#{id}", SK: "TRANSFER#{other}"})),
		"time-only-key":   table.MustSchema("w", table.Define[moment, momentKey]("test.moment", table.Def[moment]{PK: "DEVICE#{device}", SK: "READING#{at:ms}", Immutable: true})),
		"time-as-text":    table.MustSchema("w", table.Define[textReading, textKey]("test.text", table.Def[textReading]{PK: "DEVICE#{device}", SK: "READING#{timestamp}"})),
		"no-load":         table.MustSchema("w", table.NewGet[taskKey](hot, table.GetDef{ID: "G", Question: "a task"})),
		"fan-out-filter": table.MustSchema("w", table.NewQuery(shards, table.QueryDef[ownerIn]{
			ID: "F", Question: "items of a kind", FanOut: "shard", Load: load,
			Over:   func(ownerIn) []int { return []int{0, 1} },
			Filter: func(in ownerIn) table.Cond { return kind.Eq(in.Status) },
		})),
	}
}

// TestAllow checks that a lint that an entity's definition allows is found and marked as allowed.
func TestAllow(t *testing.T) {
	e := table.Define[transfer, idKey]("test.transfer", table.Def[transfer]{PK: "TRANSFER#{id}", SK: "TRANSFER#{other}", Allow: map[string]string{"two-ids": "they are sides"}})
	found := lint.Check(table.MustSchema("w", e))
	if len(found) != 1 || found[0].Allowed != "they are sides" {
		t.Errorf("%+v", found)
	}
}

// TestOurs checks that our own schemas are clean, or give a reason for each finding.
func TestOurs(t *testing.T) {
	for _, s := range []*table.Schema{analytics.Schema, telemetry.Schema, eventstore.Schema, accounts.Schema} {
		for _, f := range lint.Check(s) {
			if f.Allowed == "" {
				t.Errorf("%s: %s", s.Name(), f)
			}
		}
	}
}

// TestPublished checks that the schemas of the published patterns show their known faults.
func TestPublished(t *testing.T) {
	for name, c := range map[string]struct {
		schema *table.Schema
		want   []string
	}{
		"analytics-events": {publishedAnalytics(), []string{"hot-partition published.session", "hot-partition published.stats"}},
		"web-analytics":    {publishedWeb(), []string{"duplicate-index published.pageview", "hot-index published.pageview", "hot-partition published.pageview", "time-as-text published.pageview"}},
		"event-sourcing":   {publishedEvents(), []string{"hot-index published.event", "two-ids published.transfer"}},
		"iot-time-series":  {publishedDevices(), []string{"growing-index published.alert", "heartbeat-index published.device", "time-as-text published.reading", "time-only-key published.reading", "ttl-from-clock published.reading"}},
	} {
		var got []string
		for _, f := range lint.Check(c.schema) {
			if f.Lint != "no-load" && f.Lint != "unused-index" && f.Allowed == "" {
				got = append(got, f.Lint+" "+f.Entity)
			}
		}
		if fmt.Sprint(slices.Compact(got)) != fmt.Sprint(c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

// TestPublishedPrefixesCollide checks that the kit refuses the published schema in which page views
// and custom events share DATE# on one index. There the pattern for one of them returns the other.
func TestPublishedPrefixesCollide(t *testing.T) {
	if _, err := table.NewSchema("web", publishedPageViews, publishedCustomEvents); err == nil || !strings.Contains(err.Error(), "collide on index gsi1") {
		t.Errorf("error %v", err)
	}
}
