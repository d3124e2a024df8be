package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/server/webanalytics/notices"
	"github.com/onefold/onefold/table/delivery"
)

// TestReportsInABrowser adds a channel and a report in the settings of a site, tests both, and sees a
// message that failed: see e2e/reports.mjs.
func TestReportsInABrowser(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	senders, err := delivery.NewSenders(delivery.Options{Private: true})
	servertest.Must(t, err)
	h := servertest.New(t, func(o *server.Options) { o.Analytics.Notices = notices.Options{Senders: senders, Private: true} })
	var mu sync.Mutex
	events := []string{} // that arrived at the chat
	control := http.NewServeMux()
	control.HandleFunc("POST /chat", func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Event string }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		events = append(events, m.Event)
	})
	control.HandleFunc("GET /events", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if err := json.NewEncoder(w).Encode(events); err != nil {
			t.Error(err)
		}
	})
	// deliver does what the server's outbox does. Attempts through the channel that does not work are
	// used up.
	control.HandleFunc("POST /deliver", func(w http.ResponseWriter, r *http.Request) {
		outbox := notify.NewOutbox(notify.Options{Senders: senders, Renders: notify.Renders{"report": digest.Render}})
		if _, err := outbox.Deliver(r.Context(), h.Table); err != nil {
			t.Error(err)
		}
		useUp(r.Context(), h)
		_, _ = io.WriteString(w, "done") // the browser may have left
	})
	chat := httptest.NewServer(control)
	t.Cleanup(chat.Close)
	drive(h, "reports.mjs", chat.URL, os.Getenv("ONEFOLD_TEST_SHOTS"))
}

// useUp makes waiting messages dead letters.
func useUp(ctx context.Context, h *servertest.Server) {
	waiting, err := notify.NotificationsOfSite.Collect(ctx, h.Table, notify.NotificationsIn{SiteID: "blog", State: delivery.Waiting})
	servertest.Must(h.T, err)
	for i := range waiting {
		_, err := notify.Notifications.Modify(ctx, h.Table, waiting[i].NotificationKey, func(n *notify.Notification) error { n.State = delivery.Dead; return nil })
		servertest.Must(h.T, err)
	}
}
