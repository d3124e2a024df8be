package alerts_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
)

// monday is 11 May 2026.
var monday = time.Date(2026, 5, 11, 0, 0, 0, 0, time.UTC)

var errDisk = errors.New("the disk is full")

// world is a table with a site, whose hours a test writes or counts.
type world struct {
	*foldtest.World
	failing atomic.Int64 // number of writes until one fails; 0: none does
	site    analytics.Site

	beforeDelete func() // runs once before the next item is deleted
}

// failingAPI fails a write when it is told to.
type failingAPI struct {
	*engine.DB
	w *world
}

func (f failingAPI) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if f.w.failing.Add(-1) == 0 {
		return nil, errDisk
	}
	return f.DB.PutItem(ctx, in, o...)
}

func (f failingAPI) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if f.w.failing.Add(-1) == 0 {
		return nil, errDisk
	}
	return f.DB.UpdateItem(ctx, in, o...)
}

func (f failingAPI) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if run := f.w.beforeDelete; run != nil {
		f.w.beforeDelete = nil
		run()
	}
	return f.DB.DeleteItem(ctx, in, o...)
}

func newWorld(t *testing.T, zone string, at time.Time) *world {
	t.Helper()
	w := &world{}
	w.World = foldtest.NewWorld(t, foldtest.Setup{
		Schema: table.MustSchema("test", analytics.Schema, notify.Schema, alerts.Schema), Group: analytics.FoldGroup, At: at,
		Folds: func(*table.Table) []*fold.Fold { return analytics.Folds(analytics.Config{}) },
		Wrap:  func(db *engine.DB) dynamo.API { return failingAPI{db, w} },
	})
	var err error
	w.site, err = analytics.CreateSite(w.Ctx, w.Table, analytics.NewSite{ID: "shop", TimeZone: zone})
	w.Must(err)
	_, err = notify.PutChannel(w.Ctx, w.Table, notify.Channel{
		ChannelKey: notify.ChannelKey{SiteID: "shop", ChannelID: "hook"}, Target: delivery.Target{Kind: delivery.Webhook, Settings: delivery.Settings{URL: "https://hooks.example.com/x"}},
	})
	w.Must(err)
	return w
}

// count is the traffic of an hour.
type count struct{ visitors, views int64 }

// write stores the counts of an hour.
func (w *world) write(start time.Time, c count) {
	w.Helper()
	if c == (count{}) {
		return
	}
	name := start.UTC().Format(calendar.HourLayout)
	w.Must(analytics.StatsItems.Put(w.Ctx, w.Table, &analytics.Stats{
		StatsKey:  analytics.StatsKey{SiteID: "shop", Period: analytics.Hour, Start: name},
		PageViews: c.views, NewVisitors: c.visitors, ActiveVisitors: c.visitors, Visits: c.visitors,
	}))
}

func (w *world) put(r alerts.Rule) alerts.Rule {
	w.Helper()
	r.SiteID = "shop"
	r, err := alerts.Put(w.Ctx, w.Table, r)
	w.Must(err)
	return r
}

func settled(context.Context) error { return nil }

// evaluate evaluates the rules in several processes at once. Writes may fail.
func (w *world) evaluate(processes int) {
	w.Helper()
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			if _, err := alerts.Evaluate(w.Ctx, w.Table, settled); err != nil && !errors.Is(err, errDisk) {
				w.Error(err)
			}
		})
	}
	all.Wait()
}

// history returns the alerts, the earliest first.
func (w *world) history() []alerts.Alert {
	w.Helper()
	all, err := alerts.AlertsOfSite.Collect(w.Ctx, w.Table, alerts.SiteIn{SiteID: "shop"})
	w.Must(err)
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// messages returns the number of messages by their IDs.
func (w *world) messages() map[string]notify.Notification {
	w.Helper()
	all, err := notify.NotificationsOfSite.Collect(w.Ctx, w.Table, notify.NotificationsIn{SiteID: "shop"})
	w.Must(err)
	by := map[string]notify.Notification{}
	for _, n := range all {
		by[n.NotificationID] = n
	}
	return by
}
