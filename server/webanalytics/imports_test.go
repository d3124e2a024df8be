package webanalytics_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// TestImportOfOldEvents sends an event of years ago with keys of every kind: those that may
// write settings may import, and it counts once.
func TestImportOfOldEvents(t *testing.T) {
	h := servertest.New(t, nil)
	key := func(site string, scope accounts.Scope) string {
		_, token, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Name: "test", Site: site, Scope: scope})
		servertest.Must(t, err)
		return "Bearer " + token
	}
	const path = "/api/v1/sites/blog/import"
	at := time.Date(2019, 5, 12, 10, 0, 0, 0, time.UTC)
	event := fmt.Sprintf(`{"id":%q,"url":"https://elsewhere.test/a","address":"192.0.2.1","userAgent":"curl/8.5.0","browser":"Firefox"}`, analytics.ContentID(at, []byte("line"), 0))
	body, dry := `{"events":[`+event+`]}`, `{"dryRun":true,"events":[`+event+`,{"id":"`+strings.Repeat("0", 26)+`","url":"/"}]}`
	for authorization, want := range map[string]int{
		"": 401, "Bearer " + servertest.Token: 403, key("blog", accounts.Read): 403, key("blog", accounts.Ingest): 403, key("other", accounts.Write): 403,
	} {
		if status, answer := h.Post(path, body, "Authorization", authorization); status != want {
			t.Errorf("%.12s…: %d %s, want %d", authorization, status, answer, want)
		}
	}
	write := key(accounts.AllSites, accounts.Write)
	for _, c := range []struct{ path, body, says string }{
		{path, dry, `"stored"`}, {path, dry, `"no_visitor"`}, {path, body, `"stored"`}, {path, body, `"duplicate"`}, {path, dry, `"duplicate"`},
		{path, `{"events":[]}`, "invalid_request"}, {path, `{"events":[{"id":"x","url":"/"}]}`, "invalid_request"},
		{path, `{"events":[` + strings.Repeat(event+",", 1000) + event + `]}`, "invalid_request"},
		{"/api/v1/sites/nobody/import", body, "no such site"},
	} {
		if status, answer := h.Post(c.path, c.body, "Authorization", write); !strings.Contains(answer, c.says) || strings.Contains(c.says, "no such") != (status == http.StatusNotFound) {
			t.Errorf("%.60s: %d %.300s, want %s", c.body, status, answer, c.says)
		}
	}
}
