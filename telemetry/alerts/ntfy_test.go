package alerts_test

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

const token = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"

// topic is an ntfy server that keeps the last message. status is its answer.
type topic struct {
	*httptest.Server
	status int
	got    *http.Request
	body   string
}

func newTopic(t *testing.T) *topic {
	p := &topic{status: http.StatusOK}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		p.got, p.body = r, string(body)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(p.status)
	}))
	t.Cleanup(p.Close)
	return p
}

func (w *world) ntfy(s delivery.Settings) (alerts.Channel, error) {
	return alerts.PutChannel(w.Ctx, w.Table, alerts.Channel{
		ChannelKey: alerts.ChannelKey{FleetID: "plant", ChannelID: "phone"}, Kind: delivery.Ntfy, Settings: s, Within: -1,
	})
}

// TestNtfy publishes an alert and its end, and refuses what a webhook refuses.
func TestNtfy(t *testing.T) {
	w := newWorld(t, nil)
	p := newTopic(t)
	c, err := w.ntfy(delivery.Settings{URL: p.URL + "/secret-topic", Token: token, Click: "https://onefold.example.com/a"})
	w.Must(err)
	w.rule(func(r *telemetry.Rule) { r.Name, r.For, r.KeepFor = "zu heiß", 0, 0 })
	w.ingest(temp(after(0), "101"))
	w.Drain()
	senders, err := delivery.NewSenders(delivery.Options{Private: true})
	w.Must(err)
	deliver := func(want int) {
		t.Helper()
		n, err := alerts.NewOutbox(senders, nil).Deliver(w.Ctx, w.Table)
		if w.Must(err); n != want {
			t.Fatalf("%d sent, want %d: %+v", n, want, w.notifications())
		}
	}
	deliver(1)
	h := p.got.Header
	title, err := new(mime.WordDecoder).DecodeHeader(h.Get("Title"))
	if err != nil || !strings.HasPrefix(title, "[critical] firing: zu heiß") {
		t.Errorf("title %q %v", title, err)
	}
	for name, want := range map[string]string{
		"Priority": "urgent", "Tags": "rotating_light,firing", "Click": "https://onefold.example.com/a", "Authorization": "Bearer " + token, "Content-Type": "text/plain; charset=utf-8",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	if p.got.Method != http.MethodPost || p.got.URL.Path != "/secret-topic" || !strings.Contains(p.body, "Device:   d1\n") || !strings.Contains(p.body, "Value:    101") {
		t.Errorf("%s %s %s", p.got.Method, p.got.URL, p.body)
	}
	w.ingest(temp(after(1), "90"))
	w.Drain()
	if deliver(1); p.got.Header.Get("Priority") != "default" || p.got.Header.Get("Tags") != "white_check_mark,resolved" {
		t.Errorf("the end: %v", p.got.Header)
	}
	for _, p.status = range []int{http.StatusForbidden, http.StatusTemporaryRedirect} {
		if _, err := alerts.Test(w.Ctx, senders, &c, w.Now()); err == nil || strings.Contains(err.Error(), "secret-topic") || strings.Contains(err.Error(), token) || p.got.URL.Path != "/secret-topic" {
			t.Errorf("%d at %s: %v", p.status, p.got.URL, err)
		}
	}
	public, err := delivery.NewSenders(delivery.Options{})
	w.Must(err)
	if _, err := alerts.Test(w.Ctx, public, &c, w.Now()); !errors.Is(err, delivery.ErrPrivate) {
		t.Errorf("at a private address: %v", err)
	}
}

// TestNtfyBounds publishes an alert with long texts: the message stays one that ntfy shows.
func TestNtfyBounds(t *testing.T) {
	w := newWorld(t, nil)
	p := newTopic(t)
	_, err := w.ntfy(delivery.Settings{URL: p.URL + "/t"})
	w.Must(err)
	w.rule(func(r *telemetry.Rule) { r.For = 0 })
	w.ingest(temp(after(0), "101"))
	w.Drain()
	n := w.notifications()[0]
	_, err = alerts.Notifications.Modify(w.Ctx, w.Table, n.NotificationKey, func(n *alerts.Notification) error {
		n.Alert.Message = "a\r\nX-Evil: 1" + strings.Repeat("ö", 5000)
		return nil
	})
	w.Must(err)
	senders, err := delivery.NewSenders(delivery.Options{Private: true})
	w.Must(err)
	_, err = alerts.NewOutbox(senders, nil).Deliver(w.Ctx, w.Table)
	w.Must(err)
	title, err := new(mime.WordDecoder).DecodeHeader(p.got.Header.Get("Title"))
	if err != nil || len(title) > 250 || len(p.body) > 4096 || p.got.Header.Get("X-Evil") != "" || p.got.Header.Get("Authorization") != "" || p.got.Header.Get("Click") != "" {
		t.Errorf("%d bytes of title, %d of text, %v", len(title), len(p.body), p.got.Header)
	}
}

// TestNtfyToken checks that a token is kept when it is omitted, goes to no other host, and is not
// shown.
func TestNtfyToken(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.ntfy(delivery.Settings{URL: "https://ntfy.example.com/a", Token: token})
	w.Must(err)
	c, err := w.ntfy(delivery.Settings{URL: "https://ntfy.example.com/b"})
	if w.Must(err); c.Token != token {
		t.Errorf("token %q after a change of the topic", c.Token)
	}
	for _, mayChange := range []bool{true, false} {
		if shown := c.Settings.Shown(c.Kind, mayChange); shown.Token != "" || (shown.URL == c.URL) != mayChange {
			t.Errorf("shown if %t: %+v", mayChange, shown)
		}
	}
	for _, address := range []string{"https://ntfy.example.org/b", "http://ntfy.example.com/b", "https://ntfy.example.com:8443/b"} {
		var wrong *alerts.RuleError
		if _, err := w.ntfy(delivery.Settings{URL: address}); !errors.As(err, &wrong) || wrong.Code != "channel_token" {
			t.Errorf("%s: %v", address, err)
		}
	}
	c.Kind, c.Settings = delivery.Webhook, delivery.Settings{URL: "https://evil.example.org"}
	if c, err = alerts.PutChannel(w.Ctx, w.Table, c); err != nil || c.Token != "" {
		t.Errorf("a webhook has the token %q, %v", c.Token, err)
	}
	for code, s := range map[string]delivery.Settings{
		"channel_url": {URL: "https://ntfy.sh/"}, "channel_token": {URL: "https://ntfy.sh/t", Token: "a b"}, "channel_click": {URL: "https://ntfy.sh/t", Click: "javascript:x"},
		"channel_to": {URL: "https://ntfy.sh/t", To: []string{"ops@example.com"}},
	} {
		var wrong *alerts.RuleError
		if err := alerts.CheckChannel(&alerts.Channel{Kind: delivery.Ntfy, Settings: s}); !errors.As(err, &wrong) || wrong.Code != code {
			t.Errorf("%+v: %v, want %s", s, err, code)
		}
	}
}
