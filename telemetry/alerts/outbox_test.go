package alerts_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// TestDelivery uses a webhook that fails for a while, redirects, is snoozed, and is dead.
func TestDelivery(t *testing.T) {
	w := newWorld(t, nil)
	var got []*http.Request
	var bodies [][]byte
	status := http.StatusServiceUnavailable
	hook := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Must(err)
		got, bodies = append(got, r), append(bodies, body)
		rw.Header().Set("Location", "/elsewhere")
		rw.WriteHeader(status)
	}))
	defer hook.Close()
	c, err := alerts.PutChannel(w.Ctx, w.Table, alerts.Channel{
		ChannelKey: alerts.ChannelKey{FleetID: "plant", ChannelID: "ops"}, Kind: delivery.Webhook, Settings: delivery.Settings{URL: hook.URL + "/secret-path"}, Within: -1,
		Events: []telemetry.Transition{telemetry.Fires},
	})
	w.Must(err)
	w.rule(func(r *telemetry.Rule) { r.For, r.KeepFor = 0, 0 })
	w.ingest(temp(after(0), "101"), temp(after(1), "90"))
	w.Drain()
	deliver := func(private bool) int {
		t.Helper()
		senders, err := delivery.NewSenders(delivery.Options{Private: private})
		w.Must(err)
		outbox := alerts.NewOutbox(senders, nil)
		outbox.Random = func() float64 { return 0.5 }
		n, err := outbox.Deliver(w.Ctx, w.Table)
		w.Must(err)
		return n
	}
	only := func() alerts.Notification {
		t.Helper()
		all := w.notifications()
		if len(all) != 1 {
			t.Fatalf("%d notifications, want one: the channel wants what fires only", len(all))
		}
		return all[0]
	}
	if deliver(false); len(got) != 0 || !strings.Contains(only().LastError, "private address") {
		t.Fatalf("called a private address, or did not say why not: %+v", only())
	}
	if deliver(true) != 0 || len(got) != 0 {
		t.Error("tried again without a pause")
	}
	for _, status = range []int{http.StatusServiceUnavailable, http.StatusFound} {
		w.Advance(time.Hour)
		if deliver(true) != 0 || only().State != delivery.Waiting || strings.Contains(only().LastError, "secret-path") {
			t.Errorf("after %d: %+v", status, only())
		}
	}
	status = http.StatusNoContent
	w.Advance(time.Hour)
	if deliver(true) != 1 || only().State != delivery.Sent || len(got) != 3 {
		t.Fatalf("%d requests, %+v", len(got), only())
	}
	r, body := got[2], bodies[2]
	if id := r.Header.Get("webhook-id"); id != got[0].Header.Get("webhook-id") || id != only().NotificationID {
		t.Errorf("the id is %q", id)
	}
	if r.Header.Get("webhook-signature") != delivery.Sign(c.Secret, only().NotificationID, r.Header.Get("webhook-timestamp"), body) {
		t.Error("the signature is not of the body")
	}
	var m struct {
		Event string
		Alert alerts.AlertSnapshot
	}
	if err := json.Unmarshal(body, &m); err != nil || m.Event != "alert.firing" || m.Alert.DeviceID != "d1" || m.Alert.Value != "101" {
		t.Errorf("the body is %s (%v)", body, err)
	}
	if w.Advance(time.Hour); deliver(true) != 0 || len(got) != 3 {
		t.Error("sent twice")
	}
}

// TestDeadLetter uses a channel that fails permanently and then works again.
func TestDeadLetter(t *testing.T) {
	w := newWorld(t, nil)
	w.webhook()
	w.rule(func(r *telemetry.Rule) { r.For = 0 })
	w.ingest(temp(after(0), "101"))
	w.Drain()
	for range 12 {
		_, err := alerts.NewOutbox(delivery.Senders{}, nil).Deliver(w.Ctx, w.Table)
		w.Must(err)
		w.Advance(time.Hour)
	}
	n := w.notifications()[0]
	if n.State != delivery.Dead || n.Attempts != 12 || !strings.Contains(n.LastError, "send notifications by webhook") {
		t.Fatalf("after twelve attempts %+v", n)
	}
	n, err := alerts.Resend(w.Ctx, w.Table, n.NotificationKey)
	w.Must(err)
	_, err = alerts.Snooze(w.Ctx, w.Table, telemetry.AlertKey{DeviceID: "d1", AlertID: n.Alert.AlertID}, "ada", w.Now().Add(time.Hour))
	w.Must(err)
	_, err = alerts.NewOutbox(delivery.Senders{}, nil).Deliver(w.Ctx, w.Table)
	w.Must(err)
	if n := w.notifications()[0]; n.State != delivery.Skipped {
		t.Errorf("a snoozed alert's notification is %s", n.State)
	}
}

// TestInvalidChannels checks that unusable channels are rejected, with a code.
func TestInvalidChannels(t *testing.T) {
	for _, c := range []alerts.Channel{
		{Kind: "pigeon"}, {Kind: delivery.Webhook, Settings: delivery.Settings{URL: "ftp://x.example"}}, {Kind: delivery.Webhook, Settings: delivery.Settings{URL: "https://a:b@x.example"}}, {Kind: delivery.Webhook},
		{Kind: delivery.Email}, {Kind: delivery.Email, Settings: delivery.Settings{To: []string{"a@b.example\r\nBcc: c@d.example"}}}, {Kind: delivery.Email, Settings: delivery.Settings{To: []string{"ops"}}},
		{Kind: delivery.Webhook, Settings: delivery.Settings{URL: "https://x.example"}, Least: "dire"}, {Kind: delivery.Webhook, Settings: delivery.Settings{URL: "https://x.example"}, Within: -2},
		{Kind: delivery.Webhook, Settings: delivery.Settings{URL: "https://x.example"}, Events: []telemetry.Transition{"boom"}},
	} {
		var e *alerts.RuleError
		if err := alerts.CheckChannel(&c); !errors.As(err, &e) || !strings.HasPrefix(e.Code, "channel_") || !errors.Is(err, telemetry.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestTestNotification sends a message that belongs to no alert: it arrives, signed, and nothing is
// stored.
func TestTestNotification(t *testing.T) {
	w := newWorld(t, nil)
	w.webhook()
	c, err := alerts.Channels.Get(w.Ctx, w.Table, alerts.ChannelKey{FleetID: "plant", ChannelID: "ops"})
	w.Must(err)
	var got string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Header.Get("webhook-signature") == delivery.Sign(c.Secret, r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body) {
			got = string(body)
		}
	}))
	defer hook.Close()
	c.URL = hook.URL
	senders, err := delivery.NewSenders(delivery.Options{Private: true})
	w.Must(err)
	id, err := alerts.Test(w.Ctx, senders, &c, w.Now())
	w.Must(err)
	if !strings.Contains(got, `"event":"alert.test"`) || !strings.Contains(got, id) || len(w.notifications()) != 0 {
		t.Errorf("received %q of %s, %d notifications", got, id, len(w.notifications()))
	}
	c.Kind = delivery.Email
	if _, err := alerts.Test(w.Ctx, senders, &c, w.Now()); err == nil {
		t.Error("an email was sent by nobody")
	}
}
