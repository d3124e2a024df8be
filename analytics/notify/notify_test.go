package notify_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
)

var noon = time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)

// newTable returns a table with a site.
func newTable(t *testing.T) *table.Table {
	t.Helper()
	return newTableOf(t, nil)
}

// newTableOf is newTable with a wrapper of its database.
func newTableOf(t *testing.T, wrap func(*engine.DB) dynamo.API) *table.Table {
	t.Helper()
	tbl := foldtest.NewWorld(t, foldtest.Setup{Schema: table.MustSchema("test", analytics.Schema, notify.Schema), At: noon, Wrap: wrap}).Table
	if _, err := analytics.CreateSite(t.Context(), tbl, analytics.NewSite{ID: "shop"}); err != nil {
		t.Fatal(err)
	}
	return tbl
}

func put(t *testing.T, tbl *table.Table, id string, to delivery.Target) notify.Channel {
	t.Helper()
	c, err := notify.PutChannel(t.Context(), tbl, notify.Channel{ChannelKey: notify.ChannelKey{SiteID: "shop", ChannelID: id}, Target: to})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func enqueue(t *testing.T, tbl *table.Table, id string, through ...string) int {
	t.Helper()
	n, err := notify.Enqueue(t.Context(), tbl, notify.News{SiteID: "shop", ID: id, Event: "test.event", Title: "News", Content: map[string]int{"n": 1}, Through: through})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func states(t *testing.T, tbl *table.Table) string {
	t.Helper()
	all, err := notify.NotificationsOfSite.Collect(t.Context(), tbl, notify.NotificationsIn{SiteID: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, n := range all {
		list = append(list, fmt.Sprint(n.ChannelID, " ", n.To, " ", n.State))
	}
	return strings.Join(list, ", ")
}

// office is a webhook receiver and the outbox that posts to it. Mail fails: there is no server.
type office struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	ids    []string
}

func newOffice(t *testing.T) *office {
	o := &office{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.bodies, o.ids = append(o.bodies, string(body)), append(o.ids, r.Header.Get("webhook-id"))
	}))
	t.Cleanup(o.Close)
	return o
}

func outbox(t *testing.T) *delivery.Outbox[notify.Notification, notify.NotificationKey] {
	t.Helper()
	senders, err := delivery.NewSenders(delivery.Options{Private: true})
	if err != nil {
		t.Fatal(err)
	}
	return notify.NewOutbox(notify.Options{Senders: senders, BaseURL: "https://onefold.example.com/", Renders: notify.Renders{
		"test": func(n *notify.Notification, _ notify.Links) (delivery.Message, error) {
			return delivery.Message{Title: n.Title, Text: "text\n"}, nil
		},
	}})
}

// News is told once per channel and recipient, by several servers at once.
func TestToldOnce(t *testing.T) {
	tbl, o := newTable(t), newOffice(t)
	put(t, tbl, "hook", delivery.Target{Kind: delivery.Webhook, Settings: delivery.Settings{URL: o.URL}})
	put(t, tbl, "mail", delivery.Target{Kind: delivery.Email, Settings: delivery.Settings{To: []string{"ada@example.com", "bob@example.com"}}})
	for range 2 {
		if n := enqueue(t, tbl, "20260512T120000Z.x"); n != 3 {
			t.Errorf("%d messages, want 3", n)
		}
	}
	var servers sync.WaitGroup
	for range 3 {
		servers.Go(func() {
			if _, err := outbox(t).Deliver(t.Context(), tbl); err != nil {
				t.Error(err)
			}
		})
	}
	servers.Wait()
	if got := states(t, tbl); got != "mail bob@example.com waiting, mail ada@example.com waiting, hook  sent" && got != "mail ada@example.com waiting, mail bob@example.com waiting, hook  sent" {
		t.Errorf("states: %s", got)
	}
	if len(o.bodies) != 1 || o.ids[0] != "20260512T120000Z.x.shop.hook" {
		t.Fatalf("received %q %q", o.ids, o.bodies)
	}
	var body struct {
		ID, Event, Site string
		Test            map[string]int
	}
	if err := json.Unmarshal([]byte(o.bodies[0]), &body); err != nil || body.Event != "test.event" || body.Site != "shop" || body.Test["n"] != 1 || body.ID != o.ids[0] {
		t.Errorf("%+v %v", body, err)
	}
}

// Messages that nobody wants any more are skipped.
func TestSkipped(t *testing.T) {
	tbl := newTable(t)
	o := newOffice(t)
	for _, id := range []string{"a", "b"} {
		put(t, tbl, id, delivery.Target{Kind: delivery.Slack, Settings: delivery.Settings{URL: o.URL}})
	}
	if n := enqueue(t, tbl, "x", "a"); n != 1 {
		t.Errorf("%d messages through one channel", n)
	}
	enqueue(t, tbl, "y")
	if _, err := notify.DeleteChannel(t.Context(), tbl, notify.ChannelKey{SiteID: "shop", ChannelID: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := notify.DeleteChannel(t.Context(), tbl, notify.ChannelKey{SiteID: "shop", ChannelID: "a"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if n, err := outbox(t).Deliver(t.Context(), tbl); n != 1 || err != nil {
		t.Errorf("sent %d: %v", n, err)
	}
	if got := states(t, tbl); got != "b  sent, a  skipped, a  skipped" {
		t.Errorf("states: %s", got)
	}
	enqueue(t, tbl, "z")
	if err := erasure.DeleteSite(t.Context(), tbl, "shop"); err != nil {
		t.Fatal(err)
	}
	if n, err := outbox(t).Deliver(t.Context(), tbl); n != 0 || err != nil {
		t.Errorf("sent %d for a deleted site: %v", n, err)
	}
}

// A recipient unsubscribes: nobody else does, the link has no address, and it lasts until the address is
// removed from the channel.
func TestUnsubscribe(t *testing.T) {
	tbl := newTable(t)
	two := delivery.Target{Kind: delivery.Email, Settings: delivery.Settings{To: []string{"ada@example.com", "bob@example.com"}}}
	c := put(t, tbl, "mail", two)
	enqueue(t, tbl, "x")
	link := c.UnsubscribeURL("https://onefold.example.com", "ada@example.com")
	token, ok := strings.CutPrefix(link, "https://onefold.example.com/unsubscribe/shop/mail/")
	if !ok || strings.Contains(link, "ada") {
		t.Fatalf("link %s", link)
	}
	for _, wrong := range []string{"", "x", token[1:], token + "x"} {
		if _, err := notify.Unsubscribe(t.Context(), tbl, c.ChannelKey, wrong); !errors.Is(err, notify.ErrLink) {
			t.Errorf("token %q: %v", wrong, err)
		}
	}
	for _, k := range []notify.ChannelKey{{SiteID: "shop", ChannelID: "none"}, {SiteID: "none", ChannelID: "mail"}, {SiteID: "sh#op", ChannelID: "mail"}} {
		if _, err := notify.Unsubscribe(t.Context(), tbl, k, token); !errors.Is(err, notify.ErrLink) {
			t.Errorf("%+v: %v", k, err)
		}
	}
	for range 2 {
		if to, err := notify.Unsubscribe(t.Context(), tbl, c.ChannelKey, token); to != "ada@example.com" || err != nil {
			t.Errorf("%q %v", to, err)
		}
	}
	if _, err := outbox(t).Deliver(t.Context(), tbl); err != nil {
		t.Fatal(err)
	}
	if got := states(t, tbl); !strings.Contains(got, "ada@example.com skipped") || !strings.Contains(got, "bob@example.com waiting") {
		t.Errorf("states: %s", got)
	}
	if n := enqueue(t, tbl, "y"); n != 1 {
		t.Errorf("%d messages after one of two unsubscribed", n)
	}
	if c = put(t, tbl, "mail", two); len(c.Unsubscribed) != 1 {
		t.Errorf("a change of the channel subscribed again: %+v", c.Unsubscribed)
	}
	put(t, tbl, "mail", delivery.Target{Kind: delivery.Email, Settings: delivery.Settings{To: []string{"bob@example.com"}}})
	if c = put(t, tbl, "mail", two); len(c.Unsubscribed) != 0 {
		t.Errorf("still unsubscribed after the address was removed: %+v", c.Unsubscribed)
	}
}

func TestInvalidChannels(t *testing.T) {
	tbl := newTable(t)
	for code, c := range map[string]notify.Channel{
		"channel_kind": {Target: delivery.Target{Kind: "pigeon"}},
		"channel_url":  {Target: delivery.Target{Kind: delivery.Teams, Settings: delivery.Settings{URL: "ftp://x.example"}}},
		"channel_to":   {Target: delivery.Target{Kind: delivery.Email, Settings: delivery.Settings{To: []string{"a@b.example\r\nBcc: c@d.example"}}}},
		"channel_id":   {ChannelKey: notify.ChannelKey{ChannelID: "a.b"}, Target: delivery.Target{Kind: delivery.Email, Settings: delivery.Settings{To: []string{"a@b.example"}}}},
		"channel_name": {Name: "a\nb", Target: delivery.Target{Kind: delivery.Email, Settings: delivery.Settings{To: []string{"a@b.example"}}}},
	} {
		c.SiteID = "shop"
		if _, err := notify.PutChannel(t.Context(), tbl, c); !errors.Is(err, notify.ErrChannel) || !strings.Contains(err.Error(), "("+code+")") {
			t.Errorf("%+v: %v, want %s", c, err, code)
		}
	}
	private := notify.Channel{Target: delivery.Target{Kind: delivery.Slack, Settings: delivery.Settings{URL: "http://127.0.0.1/x"}}}
	if err := notify.CheckPublic(&private); !errors.Is(err, notify.ErrChannel) || !strings.Contains(err.Error(), "channel_url_private") {
		t.Errorf("a private address: %v", err)
	}
	mail := delivery.Target{Kind: delivery.Email, Settings: delivery.Settings{To: []string{"a@b.example"}}}
	for i := range 20 {
		put(t, tbl, fmt.Sprint("c", i), mail)
	}
	if _, err := notify.PutChannel(t.Context(), tbl, notify.Channel{ChannelKey: notify.ChannelKey{SiteID: "shop"}, Target: mail}); !errors.Is(err, notify.ErrChannel) {
		t.Errorf("a 21st channel: %v", err)
	}
	if _, err := notify.PutChannel(t.Context(), tbl, notify.Channel{ChannelKey: notify.ChannelKey{SiteID: "none"}, Target: mail}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("an unknown site: %v", err)
	}
}
