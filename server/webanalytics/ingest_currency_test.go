package webanalytics_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/exchange"
	"github.com/onefold/onefold/internal/livefile"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// Revenue in another currency counts in the site's, at the rate of the day. Without a rate, the event
// counts without revenue, and says so. What was paid is kept either way.
func TestRevenueIsConverted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rates.csv")
	rates := livefile.New(file, exchange.Read)
	h := servertest.New(t, func(o *server.Options) { o.Analytics.Rates = rates })
	const site = "/api/v1/sites/blog"
	admin := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	day := time.Now().UTC().Format(time.DateOnly)
	send := func(revenue, currency, want string) {
		t.Helper()
		for _, path := range []string{"/api/event", "/api/events"} {
			event := `"url":"/paid","name":"order","revenue":"` + revenue + `","currency":"` + currency + `"`
			body := `{"site":"blog",` + event + `}`
			if path == "/api/events" {
				body = `{"site":"blog","events":[{` + event + `}]}`
			}
			if status, answer := h.Post(path, body); status != http.StatusAccepted || !strings.Contains(answer, want) {
				t.Errorf("%s %s to %s: %d %s, want %s", revenue, currency, path, status, answer, want)
			}
		}
	}
	send("7", "USD", `"status":"stored","warning":"no_exchange_rate"}`) // no file yet
	servertest.Must(t, os.WriteFile(file, []byte("Date,USD,JPY\n"+day+",1.25,160\n"), 0o600))
	servertest.Must(t, rates.Look())
	send("12.50", "usd", `"status":"stored"}`) // 10 euros
	send("1600", "JPY", `"status":"stored"}`)  // 10 euros
	send("3", "EUR", `"status":"stored"}`)     // the site's own
	send("0.5", "", `"status":"stored"}`)      // as before
	send("9", "GBP", `"warning":"no_exchange_rate"`)
	send("9", "Euro", `"reason":"bad_currency"`)
	send("999999999999999", "KWD", `"no_exchange_rate"`)
	if status, answer := h.Post("/api/event", `{"site":"blog","url":"/","name":"order","revenue":"1","currency":"`+strings.Repeat("E", 17)+`"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("a long currency: %d %s", status, answer)
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	admin.Want(http.StatusOK, `"revenue":"47"`, http.MethodGet, site+"/stats?from="+day+"&to="+day, "") // twice 10 + 10 + 3 + 0.5
	export := admin.Want(http.StatusOK, "paid_currency", http.MethodGet, site+"/export?kind=events&format=csv&from="+day+"&to="+day, "")
	for _, row := range []string{",10,", ",12.5,USD", ",1600,JPY", ",7,USD", ",9,GBP"} {
		if strings.Count(export, row) < 2 {
			t.Errorf("the export lacks %q:\n%s", row, export)
		}
	}
}
