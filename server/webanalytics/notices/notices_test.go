package notices_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/server/webanalytics/notices"
	"github.com/onefold/onefold/table/delivery"
)

const (
	channels = "/api/v1/sites/blog/channels"
	reports  = "/api/v1/sites/blog/reports"
	messages = "/api/v1/sites/blog/messages"
)

// receiver keeps the last body that was posted to it.
type receiver struct {
	*httptest.Server
	body   string
	status int
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{status: http.StatusOK}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.body = string(body)
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

func newHouse(t *testing.T) (h *servertest.Server, owner *servertest.Person, senders delivery.Senders) {
	t.Helper()
	senders, err := delivery.NewSenders(delivery.Options{Private: true})
	servertest.Must(t, err)
	h = servertest.New(t, func(o *server.Options) { o.Analytics.Notices = notices.Options{Senders: senders, Private: true} })
	return h, h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner}), senders
}

// A person adds a channel, tests it, and removes it. Readers see neither the path of its URL nor change
// anything.
func TestChannels(t *testing.T) {
	h, owner, _ := newHouse(t)
	r := newReceiver(t)
	owner.Want(http.StatusOK, `"secret":"whsec_`, http.MethodPut, channels+"/hook", `{"kind":"webhook","url":"`+r.URL+`/secret"}`)
	if again := owner.Want(http.StatusOK, `"hook"`, http.MethodPut, channels+"/hook", `{"kind":"webhook","url":"`+r.URL+`/secret"}`); strings.Contains(again, "whsec_") {
		t.Errorf("the secret is shown again: %s", again)
	}
	owner.Want(http.StatusOK, ".test.hook", http.MethodPost, channels+"/hook/test", "")
	if !strings.Contains(r.body, `"event":"test"`) || !strings.Contains(r.body, `"site":"blog"`) {
		t.Errorf("received %s", r.body)
	}
	owner.Want(http.StatusOK, "channel.test", http.MethodGet, "/api/v1/audit", "")
	r.status = http.StatusGone
	if failed := owner.Want(http.StatusBadGateway, "410 Gone", http.MethodPost, channels+"/hook/test", ""); strings.Contains(failed, "/secret") {
		t.Errorf("the failure shows the URL: %s", failed)
	}
	viewer := h.NewPerson("viewer@example.com", accounts.Grants{"blog": accounts.Viewer})
	if seen := viewer.Want(http.StatusOK, r.URL, http.MethodGet, channels, ""); strings.Contains(seen, "/secret") || !strings.Contains(seen, `"label":"Slack"`) {
		t.Errorf("a viewer sees %s", seen)
	}
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, channels+"/hook/test", "")
	owner.Want(http.StatusUnprocessableEntity, "channel_url", http.MethodPut, channels+"/bad", `{"kind":"slack","url":"nowhere"}`)
	owner.Want(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/sites/none/channels", "")
	owner.Want(http.StatusNotFound, "not_found", http.MethodPost, channels+"/none/test", "")
	owner.Want(http.StatusNoContent, "", http.MethodDelete, channels+"/hook", "")
	owner.Want(http.StatusNotFound, "not_found", http.MethodDelete, channels+"/hook", "")
}

// A server that does not call private addresses says so when a channel is saved.
func TestPrivateAddresses(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.Want(http.StatusUnprocessableEntity, "channel_url_private", http.MethodPut, channels+"/x", `{"kind":"discord","url":"http://127.0.0.1/x"}`)
	owner.Want(http.StatusOK, "", http.MethodPut, channels+"/mail", `{"kind":"email","to":["ada@example.com"]}`)
	owner.Want(http.StatusBadGateway, "not configured to send notifications by email", http.MethodPost, channels+"/mail/test", "")
}

// A report is sent on request and listed as a message with its delivery, which can be repeated.
func TestMessages(t *testing.T) {
	h, owner, senders := newHouse(t)
	r := newReceiver(t)
	owner.Want(http.StatusOK, `"hour":8`, http.MethodPut, reports+"/week", `{"every":"weekly"}`)
	owner.Want(http.StatusUnprocessableEntity, "report_channels", http.MethodPut, reports+"/bad", `{"every":"weekly","channels":["none"]}`)
	owner.Want(http.StatusConflict, "no_channel", http.MethodPost, reports+"/week/send", "")
	owner.Want(http.StatusOK, "", http.MethodPut, channels+"/hook", `{"kind":"webhook","url":"`+r.URL+`"}`)
	owner.Want(http.StatusAccepted, `"messages":1`, http.MethodPost, reports+"/week/send", "")
	owner.Want(http.StatusOK, `"next":"`, http.MethodGet, reports, "")

	outbox := notify.NewOutbox(notify.Options{Senders: senders, BaseURL: "https://onefold.example.com", Renders: notify.Renders{"report": digest.Render}})
	r.status = http.StatusServiceUnavailable
	if n, err := outbox.Deliver(t.Context(), h.Table); n != 0 || err != nil {
		t.Errorf("sent %d: %v", n, err)
	}
	var list struct {
		Messages []struct {
			ID, State, LastError, Event string
			Attempts                    int
		}
	}
	servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusOK, "", http.MethodGet, messages+"?state=waiting", "")), &list))
	if len(list.Messages) != 1 || list.Messages[0].Attempts != 1 || !strings.Contains(list.Messages[0].LastError, "503") || list.Messages[0].Event != "report.weekly" {
		t.Fatalf("messages %+v", list.Messages)
	}
	key := notify.NotificationKey{SiteID: "blog", NotificationID: list.Messages[0].ID}
	_, err := notify.Notifications.Modify(t.Context(), h.Table, key, func(n *notify.Notification) error { n.State = delivery.Dead; return nil })
	servertest.Must(t, err)
	owner.Want(http.StatusOK, `"dead"`, http.MethodGet, messages+"?state=dead", "")
	owner.Want(http.StatusAccepted, `"waiting"`, http.MethodPost, messages+"/"+key.NotificationID+"/resend", "")
	owner.Want(http.StatusNotFound, "not_found", http.MethodPost, messages+"/none/resend", "")
	r.status = http.StatusOK
	if n, err := outbox.Deliver(t.Context(), h.Table); n != 1 || err != nil {
		t.Errorf("sent %d: %v", n, err)
	}
	if !strings.Contains(r.body, `"event":"report.weekly"`) || !strings.Contains(r.body, `"every":"weekly"`) {
		t.Errorf("received %s", r.body)
	}
	owner.Want(http.StatusOK, "message.resend", http.MethodGet, "/api/v1/audit", "")
	owner.Want(http.StatusNoContent, "", http.MethodDelete, reports+"/week", "")
}

// A recipient opens the link of a mail without a login, and confirms. Programs that open links change
// nothing.
func TestUnsubscribePage(t *testing.T) {
	h, owner, _ := newHouse(t)
	owner.Want(http.StatusOK, "", http.MethodPut, channels+"/mail", `{"kind":"email","to":["ada@example.com"]}`)
	key := notify.ChannelKey{SiteID: "blog", ChannelID: "mail"}
	c, err := notify.Channels.Get(t.Context(), h.Table, key)
	servertest.Must(t, err)
	path := strings.TrimPrefix(c.UnsubscribeURL("https://x.example", "ada@example.com"), "https://x.example")
	guest := h.Browser()
	unsubscribed := func(want int) {
		t.Helper()
		c, err := notify.Channels.Get(t.Context(), h.Table, key)
		if servertest.Must(t, err); len(c.Unsubscribed) != want {
			t.Errorf("%d unsubscribed, want %d", len(c.Unsubscribed), want)
		}
	}
	guest.Want(http.StatusOK, "<button>Unsubscribe</button>", http.MethodGet, path, "")
	unsubscribed(0)
	guest.Want(http.StatusNotFound, "does not work", http.MethodPost, path+"x", "")
	guest.Want(http.StatusOK, "No more mail", http.MethodPost, path, "List-Unsubscribe=One-Click")
	unsubscribed(1)
	owner.Want(http.StatusOK, `"unsubscribed":["ada@example.com"]`, http.MethodGet, channels, "")
}
