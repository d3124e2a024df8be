package webanalytics_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onefold/onefold/internal/blocklist"
	"github.com/onefold/onefold/internal/livefile"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// Events from data centers and with referrer spam are filtered out, counted by reason beside bots,
// and not stored. A site can keep the former. Replaced files apply at once.
func TestListsFilterEvents(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		servertest.Must(t, os.WriteFile(file+".new", []byte(text), 0o600))
		servertest.Must(t, os.Rename(file+".new", file))
		return file
	}
	networks := livefile.New(write("networks.txt", "203.0.113.0/24\n2001:db8::/32\n"), blocklist.ReadNetworks)
	domains := livefile.New(write("spam.txt", "spam.example\n"), blocklist.ReadDomains)
	h := servertest.New(t, func(o *server.Options) {
		o.TrustProxy = true
		o.Analytics.DataCenters, o.Analytics.Spam = networks, domains
	})
	const site = "/api/v1/sites/blog"
	admin := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	send := func(address, referrer, want string) {
		t.Helper()
		status, body := h.Post("/api/event", `{"site":"blog","url":"/","referrer":"`+referrer+`"}`, "X-Forwarded-For", address)
		if status != http.StatusAccepted || !strings.Contains(body, want) {
			t.Errorf("from %s, %s: %d %s, want %s", address, referrer, status, body, want)
		}
	}
	send("203.0.113.7", "", `"stored"`) // the lists have not been read yet
	servertest.Must(t, networks.Look())
	servertest.Must(t, domains.Look())
	send("203.0.113.7", "", `"data_center"`)
	send("2001:db8::7", "", `"data_center"`)
	send("198.51.100.7", "", `"stored"`)
	send("198.51.100.7", "https://www.shop.Spam.example/x", `"referrer_spam"`)
	send("198.51.100.7", "https://notspam.example/", `"stored"`)
	write("networks.txt", "198.51.100.0/24")
	servertest.Must(t, networks.Look())
	send("203.0.113.7", "", `"stored"`)
	send("198.51.100.7", "", `"data_center"`)

	admin.Want(http.StatusOK, `"keepDataCenters":true`, http.MethodPatch, site, `{"keepDataCenters":true}`)
	send("198.51.100.7", "", `"stored"`)
	send("198.51.100.7", "https://spam.example/", `"referrer_spam"`)
	servertest.Must(t, h.Worker.Drain(t.Context()))
	admin.Want(http.StatusOK, `"bots":[{"value":"data_center","events":3},{"value":"referrer_spam","events":2}]`, http.MethodGet, site+"/bots", "")
	admin.Want(http.StatusOK, `"pageViews":5`, http.MethodGet, site+"/stats", "")
}
