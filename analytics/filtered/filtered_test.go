package filtered_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics/filtered"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

// failing is an API whose writes fail while broken is set.
type failing struct {
	dynamo.API
	broken bool
}

var errBroken = errors.New("broken")

func (f *failing) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if f.broken {
		return nil, errBroken
	}
	return f.API.PutItem(ctx, in, opts...)
}

func open(t *testing.T) (*table.Table, *failing) {
	t.Helper()
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := table.MustSchema("test", filtered.Days, filtered.ByDay).Ensure(t.Context(), db, "test"); err != nil {
		t.Fatal(err)
	}
	api := &failing{API: db}
	return table.New(api, "test", table.Options{}), api
}

func TestCountsOfTwoProcessesAddUp(t *testing.T) {
	tbl, _ := open(t)
	day := filtered.DayKey{SiteID: "site", Day: "2026-05-12"}
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			c := filtered.NewCounter(tbl)
			for range 5 {
				c.Count(day, filtered.Bot, "crawler", 2)
				c.Count(day, filtered.AICrawler, "GPTBot", 1)
				c.Count(day, filtered.Other, "excluded", 1)
				if err := c.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	days, err := filtered.ByDay.Collect(t.Context(), tbl, filtered.RangeIn{SiteID: "site", From: "2026-05-12", To: "2026-05-13"})
	if err != nil || len(days) != 1 {
		t.Fatal(days, err)
	}
	if d := days[0]; d.Bots["crawler"] != 20 || d.AI["GPTBot"] != 10 || d.Others["excluded"] != 10 {
		t.Errorf("%+v", d)
	}
}

func TestFailedFlushIsRetried(t *testing.T) {
	tbl, api := open(t)
	c := filtered.NewCounter(tbl)
	day := filtered.DayKey{SiteID: "site", Day: "2026-05-12"}
	c.Count(day, filtered.Bot, "crawler", 1)
	api.broken = true
	if err := c.Flush(t.Context()); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	api.broken = false
	c.Count(day, filtered.Bot, "crawler", 1)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	c.Run(ctx, func(err error) { t.Error(err) }) // writes once more when stopped
	if d, err := filtered.Days.Get(t.Context(), tbl, day); err != nil || d.Bots["crawler"] != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}
