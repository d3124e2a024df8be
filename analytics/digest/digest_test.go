package digest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
)

// wednesday is in the week after that of 4 to 10 May 2026.
var wednesday = time.Date(2026, 5, 13, 10, 0, 0, 0, time.UTC)

// world is a site in Berlin with a mail channel of two recipients and a webhook.
type world struct {
	*foldtest.World
	collector *analytics.Collector
	failing   atomic.Int64 // number of writes until one fails; 0: none does
}

var errDisk = errors.New("the disk is full")

// failingAPI fails a write when it is told to.
type failingAPI struct {
	*engine.DB
	w *world
}

func (f failingAPI) fails() bool { return f.w.failing.Add(-1) == 0 }

func (f failingAPI) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if f.fails() {
		return nil, errDisk
	}
	return f.DB.PutItem(ctx, in, o...)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	w.World = foldtest.NewWorld(t, foldtest.Setup{
		Schema: table.MustSchema("test", analytics.Schema, notify.Schema, digest.Schema), Group: analytics.FoldGroup, At: wednesday,
		Folds: func(*table.Table) []*fold.Fold { return analytics.Folds(analytics.Config{}) },
		Wrap:  func(db *engine.DB) dynamo.API { return failingAPI{db, w} },
	})
	_, err := analytics.CreateSite(w.Ctx, w.Table, analytics.NewSite{ID: "shop", TimeZone: "Europe/Berlin", Settings: analytics.Settings{Name: "My <b>shop</b>"}})
	w.Must(err)
	for id, to := range map[string]delivery.Target{
		"mail": {Kind: delivery.Email, Settings: delivery.Settings{To: []string{"ada@example.com", "bob@example.com"}}},
		"hook": {Kind: delivery.Webhook, Settings: delivery.Settings{URL: "https://hooks.example.com/x"}},
	} {
		_, err := notify.PutChannel(w.Ctx, w.Table, notify.Channel{ChannelKey: notify.ChannelKey{SiteID: "shop", ChannelID: id}, Target: to})
		w.Must(err)
	}
	w.collector = analytics.NewCollector(w.Table, analytics.CollectorOptions{})
	return w
}

func (w *world) visit(at time.Time, who int, path, referrer string) {
	w.Helper()
	outcomes, err := w.collector.Ingest(w.Ctx, "shop", []analytics.Hit{{At: at, Path: path, Referrer: referrer, UserAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", Address: fmt.Sprintf("192.0.2.%d", who), Imported: true}})
	w.Must(err)
	if outcomes[0].Status == analytics.Rejected {
		w.Fatalf("%+v", outcomes[0])
	}
}

func (w *world) put(r digest.Report) digest.Report {
	w.Helper()
	r.SiteID = "shop"
	r, err := digest.Put(w.Ctx, w.Table, r)
	w.Must(err)
	return r
}

func (w *world) messages() []notify.Notification {
	w.Helper()
	all, err := notify.NotificationsOfSite.Collect(w.Ctx, w.Table, notify.NotificationsIn{SiteID: "shop"})
	w.Must(err)
	return all
}

// Reports are about the last period that has ended, and due at their hour of the site's zone.
func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		every      digest.Every
		next       string // in UTC; Berlin is two hours ahead
		from, to   string
		beforeFrom string
		beforeTo   string
	}{
		{digest.Daily, "2026-05-14T06:00:00Z", "2026-05-13", "2026-05-13", "2026-05-06", "2026-05-06"},
		{digest.Weekly, "2026-05-18T06:00:00Z", "2026-05-11", "2026-05-17", "2026-05-04", "2026-05-10"},
		{digest.Monthly, "2026-06-01T06:00:00Z", "2026-05-01", "2026-05-31", "2026-04-01", "2026-04-30"},
	} {
		w := newWorld(t)
		r := w.put(digest.Report{Key: digest.Key{ReportID: "r"}, Every: c.every, Hour: 8, Channels: []string{"hook"}})
		if got := r.Next.Format(time.RFC3339); got != c.next {
			t.Errorf("%s: due at %s, want %s", c.every, got, c.next)
		}
		w.Set(r.Next.Add(-time.Millisecond))
		if n, err := digest.Send(w.Ctx, w.Table); n != 0 || err != nil {
			t.Errorf("%s: sent %d before it was due: %v", c.every, n, err)
		}
		w.Set(r.Next)
		if n, err := digest.Send(w.Ctx, w.Table); n != 1 || err != nil {
			t.Errorf("%s: sent %d when it was due: %v", c.every, n, err)
		}
		all := w.messages()
		if len(all) != 1 {
			t.Fatalf("%s: %d messages", c.every, len(all))
		}
		var got digest.Content
		w.Must(json.Unmarshal([]byte(all[0].Content), &got))
		if got.From != c.from || got.To != c.to || got.BeforeFrom != c.beforeFrom || got.BeforeTo != c.beforeTo {
			t.Errorf("%s: %s to %s, compared with %s to %s", c.every, got.From, got.To, got.BeforeFrom, got.BeforeTo)
		}
	}
}

// Whatever the zone and its clock changes, a report is due once a period: at the first moment at which
// clocks show its hour or a later one.
func TestDueTimes(t *testing.T) {
	seed := seeds.One(t)
	random := rand.New(rand.NewPCG(seed, 0))
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Asia/Beirut", "America/Havana", "America/Santiago", "Africa/Casablanca"}
	w := newWorld(t)
	for i, zone := range zones {
		_, err := analytics.CreateSite(w.Ctx, w.Table, analytics.NewSite{ID: fmt.Sprint("s", i), TimeZone: zone})
		w.Must(err)
	}
	for range 60 {
		i := random.IntN(len(zones))
		where, err := time.LoadLocation(zones[i])
		w.Must(err)
		w.Set(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(random.Int64N(int64(8 * 365 * 24 * time.Hour)))).Truncate(time.Millisecond))
		every := []digest.Every{digest.Daily, digest.Weekly, digest.Monthly}[random.IntN(3)]
		r, err := digest.Put(w.Ctx, w.Table, digest.Report{Key: digest.Key{SiteID: fmt.Sprint("s", i), ReportID: "r"}, Every: every, Hour: random.IntN(23)})
		w.Must(err)
		due := func(at time.Time) bool {
			local := at.In(where)
			first := every == digest.Daily || every == digest.Weekly && local.Weekday() == time.Monday || every == digest.Monthly && local.Day() == 1
			return first && local.Hour() >= r.Hour
		}
		at := w.Now().Truncate(15 * time.Minute)
		for at = at.Add(15 * time.Minute); !due(at) || due(at.Add(-15*time.Minute)) && sameDay(at, at.Add(-15*time.Minute), where); {
			at = at.Add(15 * time.Minute)
		}
		if !r.Next.Equal(at) {
			t.Fatalf("%s report in %s at %d h is due after %s at %s, want %s", every, zones[i], r.Hour, w.Now().Format(time.RFC3339), r.Next, at)
		}
		_, err = digest.Delete(w.Ctx, w.Table, r.Key)
		w.Must(err)
	}
}

func sameDay(a, b time.Time, where *time.Location) bool {
	return a.In(where).Format(time.DateOnly) == b.In(where).Format(time.DateOnly)
}

// Several servers send reports, writes fail at any point, and processes restart: each recipient gets one
// message a day.
func TestOnceAPeriod(t *testing.T) {
	seed := seeds.One(t)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	w.put(digest.Report{Key: digest.Key{ReportID: "r"}, Every: digest.Daily, Hour: 8})
	want := map[string]bool{}
	for due := time.Date(2026, 5, 14, 6, 0, 0, 0, time.UTC); due.Before(wednesday.Add(6 * 24 * time.Hour)); due = due.AddDate(0, 0, 1) {
		want[due.Format("20060102T150405Z")] = true
	}
	send := func() {
		if _, err := digest.Send(w.Ctx, w.Table); err != nil && !errors.Is(err, errDisk) {
			t.Error(err)
		}
	}
	for w.Now().Before(wednesday.Add(6 * 24 * time.Hour)) {
		w.failing.Store(random.Int64N(6)) // 0: none
		var servers sync.WaitGroup
		for range 3 {
			servers.Go(send)
		}
		servers.Wait()
		w.failing.Store(0)
		send()
		w.Advance(time.Duration(1+random.IntN(600)) * time.Minute)
	}
	w.Set(wednesday.Add(6*24*time.Hour - time.Minute))
	send()
	got := map[string]int{}
	for _, n := range w.messages() {
		due, _, _ := strings.Cut(n.NotificationID, ".")
		got[due]++
	}
	for due := range want {
		if got[due] != 3 { // two recipients and the webhook
			t.Errorf("%d messages of %s, want 3", got[due], due)
		}
		delete(got, due)
	}
	if len(got) > 0 {
		t.Errorf("messages that were not due: %v", got)
	}
}

// A server that was down for weeks sends the last report, not all of them.
func TestMissedPeriods(t *testing.T) {
	w := newWorld(t)
	w.put(digest.Report{Key: digest.Key{ReportID: "r"}, Every: digest.Daily, Hour: 8, Channels: []string{"hook"}})
	w.Advance(20 * 24 * time.Hour) // 2 June, noon in Berlin
	for range 2 {
		_, err := digest.Send(w.Ctx, w.Table)
		w.Must(err)
	}
	all := w.messages()
	if len(all) != 1 || !strings.Contains(all[0].Content, `"from":"2026-06-01"`) {
		t.Errorf("%d messages: %+v", len(all), all)
	}
	r, err := digest.Reports.Get(w.Ctx, w.Table, digest.Key{SiteID: "shop", ReportID: "r"})
	if err != nil || !r.Next.Equal(time.Date(2026, 6, 3, 6, 0, 0, 0, time.UTC)) {
		t.Errorf("next %s %v", r.Next, err)
	}
}

// An edit between the time at which a report is due and that at which it is sent does not lose it,
// unless it changes the schedule.
func TestEditOfADueReport(t *testing.T) {
	w := newWorld(t)
	due := w.put(digest.Report{Key: digest.Key{ReportID: "r"}, Every: digest.Daily, Hour: 8, Channels: []string{"hook"}}).Next
	w.Set(due.Add(10 * time.Second))
	if r := w.put(digest.Report{Key: digest.Key{ReportID: "r"}, Name: "News", Every: digest.Daily, Hour: 8, Channels: []string{"hook"}}); !r.Next.Equal(due) {
		t.Errorf("the edit moved it to %s", r.Next)
	}
	if n, err := digest.Send(w.Ctx, w.Table); n != 1 || err != nil {
		t.Errorf("sent %d: %v", n, err)
	}
	w.Set(due.Add(24*time.Hour + time.Second))
	r := w.put(digest.Report{Key: digest.Key{ReportID: "r"}, Every: digest.Daily, Hour: 9, Channels: []string{"hook"}})
	if want := due.Add(25 * time.Hour); !r.Next.Equal(want) || !r.LastSent.Equal(due) {
		t.Errorf("next %s, want %s; last sent %s, want %s", r.Next, want, r.LastSent, due)
	}
}

// fill makes a week of 5 visits with search and a week of 20, most of them from a newsletter.
func (w *world) fill() {
	w.Helper()
	_, err := goals.Create(w.Ctx, w.Table, goals.Goal{GoalKey: analytics.GoalKey{SiteID: "shop", GoalID: "buy"}, Name: "Purchase", Path: "/thanks"})
	w.Must(err)
	before, after := time.Date(2026, 4, 28, 9, 0, 0, 0, time.UTC), time.Date(2026, 5, 5, 9, 0, 0, 0, time.UTC)
	for i := range 5 {
		w.visit(before.Add(time.Duration(i)*time.Hour), i, "/sale/<img src=x>", "https://www.google.com/")
	}
	for i := range 20 {
		from := "https://news.example.org/<script>"
		if i < 6 {
			from = "https://www.google.com/"
		}
		at := after.Add(time.Duration(i) * 5 * time.Hour)
		w.visit(at, 20+i, "/sale/<img src=x>", from)
		if i%5 == 0 {
			w.visit(at.Add(time.Minute), 20+i, "/thanks", "")
		}
	}
	w.Drain()
}

// The numbers, the comparison and the cause are those of the facts.
func TestContent(t *testing.T) {
	w := newWorld(t)
	w.fill()
	r := w.put(digest.Report{Key: digest.Key{ReportID: "r"}, Every: digest.Weekly, Hour: 8})
	n, err := digest.SendNow(w.Ctx, w.Table, r.Key)
	if err != nil || n != 3 {
		t.Fatalf("%d messages: %v", n, err)
	}
	var c digest.Content
	w.Must(json.Unmarshal([]byte(w.messages()[0].Content), &c))
	figures := map[string][2]float64{}
	for _, f := range c.Figures {
		figures[f.Metric] = [2]float64{f.After, f.Before}
	}
	for metric, want := range map[string][2]float64{"visitors": {20, 5}, "visits": {20, 5}, "pageviews": {24, 5}, "conversions": {4, 0}, "bounce_rate": {0.8, 1}} {
		if figures[metric] != want {
			t.Errorf("%s: %v, want %v", metric, figures[metric], want)
		}
	}
	if c.Cause == nil || c.Cause.After != 14 || c.Cause.Before != 0 || c.Cause.Change != 15 || !strings.Contains(c.Cause.Value, "news.example.org") {
		t.Errorf("cause %+v", c.Cause)
	}
	var visitors int64
	for _, b := range c.Bars {
		visitors += b.Visitors
	}
	if len(c.Bars) != 7 || visitors != 20 {
		t.Errorf("%d bars with %d visitors", len(c.Bars), visitors)
	}
	if i := slices.IndexFunc(c.Lists, func(l digest.List) bool { return l.By == analytics.ByGoal }); i < 0 || c.Lists[i].Rows[0] != (digest.Row{Value: "Purchase", After: 4}) {
		t.Errorf("goals: %+v", c.Lists)
	}
}

// Mail has what mail clients show, texts of visitors are not markup in it, and both forms say the same.
func TestMail(t *testing.T) {
	w := newWorld(t)
	w.fill()
	for _, every := range []digest.Every{digest.Daily, digest.Weekly, digest.Monthly} {
		w.put(digest.Report{Key: digest.Key{ReportID: string(every)}, Every: every, Hour: 8, Channels: []string{"mail"}})
	}
	w.Set(time.Date(2026, 5, 11, 7, 0, 0, 0, time.UTC)) // a Monday
	for _, every := range []digest.Every{digest.Daily, digest.Weekly, digest.Monthly} {
		_, err := digest.SendNow(w.Ctx, w.Table, digest.Key{SiteID: "shop", ReportID: string(every)})
		w.Must(err)
	}
	for _, n := range w.messages() {
		m, err := digest.Render(&n, notify.Links{Site: "https://onefold.example.com/sites/shop", Settings: "https://onefold.example.com/sites/shop/settings", Unsubscribe: "https://onefold.example.com/unsubscribe/a/b/c"})
		w.Must(err)
		if dir := os.Getenv("ONEFOLD_TEST_SHOTS"); dir != "" {
			w.Must(os.WriteFile(dir+"/mail-"+n.Event+".html", []byte(m.HTML), 0o600))
			w.Must(os.WriteFile(dir+"/mail-"+n.Event+".txt", []byte(m.Text), 0o600))
		}
		if len(m.HTML) > 100<<10 { // Gmail clips longer ones
			t.Errorf("%s: %d bytes", n.Event, len(m.HTML))
		}
		if bad := regexp.MustCompile(`(?i)<(script|style|svg|img|link|form|iframe|b>)|class=|javascript:|ZgotmplZ`).FindString(m.HTML); bad != "" {
			t.Errorf("%s contains %q", n.Event, bad)
		}
		for _, want := range []string{"https://onefold.example.com/unsubscribe/a/b/c", "https://onefold.example.com/sites/shop?from="} {
			if !strings.Contains(m.HTML, strings.ReplaceAll(want, "&", "&amp;")) || !strings.Contains(m.Text, want) {
				t.Errorf("%s has no link %s:\n%s", n.Event, want, m.Text)
			}
		}
		if n.Event == "report.weekly" && (!strings.Contains(m.Text, "Most of it: ") || !strings.Contains(m.HTML, "My &lt;b&gt;shop&lt;/b&gt;") || !strings.Contains(m.Text, "+300 %")) {
			t.Errorf("the week:\n%s", m.Text)
		}
	}
}

// A site without any event has a report, too.
func TestEmptySite(t *testing.T) {
	w := newWorld(t)
	r := w.put(digest.Report{Key: digest.Key{ReportID: "r"}, Every: digest.Daily})
	_, err := digest.SendNow(w.Ctx, w.Table, r.Key)
	w.Must(err)
	m, err := digest.Render(&w.messages()[0], notify.Links{})
	if err != nil || !strings.Contains(m.Text, "Visitors                    0") || strings.Contains(m.HTML, "href") || strings.Contains(m.Text, "NaN") {
		t.Errorf("%v\n%s", err, m.Text)
	}
	if _, err := digest.SendNow(w.Ctx, w.Table, digest.Key{SiteID: "shop", ReportID: "none"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("an unknown report: %v", err)
	}
}

func TestInvalidReports(t *testing.T) {
	w := newWorld(t)
	for code, r := range map[string]digest.Report{
		"report_id": {Key: digest.Key{ReportID: "a b"}, Every: digest.Daily}, "report_every": {Every: "hourly"}, "report_hour": {Every: digest.Daily, Hour: 24},
		"report_channels": {Every: digest.Daily, Channels: []string{"none"}}, "report_name": {Every: digest.Daily, Name: "a\nb"},
	} {
		r.SiteID = "shop"
		if _, err := digest.Put(w.Ctx, w.Table, r); !errors.Is(err, digest.ErrReport) || !strings.Contains(err.Error(), "("+code+")") {
			t.Errorf("%+v: %v, want %s", r, err, code)
		}
	}
	for i := range 20 {
		w.put(digest.Report{Key: digest.Key{ReportID: fmt.Sprint("r", i)}, Every: digest.Daily})
	}
	if _, err := digest.Put(w.Ctx, w.Table, digest.Report{Key: digest.Key{SiteID: "shop"}, Every: digest.Daily}); !errors.Is(err, digest.ErrReport) {
		t.Errorf("a 21st report: %v", err)
	}
}
