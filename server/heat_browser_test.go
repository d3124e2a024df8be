package server_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/onefold/onefold/server/servertest"
)

// TestHeatInABrowser makes a key hot, follows the page's advice, and sees the key cool: see
// e2e/heat.mjs.
func TestHeatInABrowser(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	m := servertest.NewMetered(t, time.Now().Add(-20*time.Minute)) // at the end, its time has not passed the browser's
	m.Minutes(1)
	control := http.NewServeMux()
	control.HandleFunc("POST /rush", func(w http.ResponseWriter, _ *http.Request) {
		if err := m.Rush(900); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	control.HandleFunc("POST /later", func(http.ResponseWriter, *http.Request) { m.Minutes(15) }) // another number of partitions takes effect
	orders := httptest.NewServer(control)
	t.Cleanup(orders.Close)
	drive(m.Server, "heat.mjs", orders.URL, os.Getenv("ONEFOLD_TEST_SHOTS"))
}
