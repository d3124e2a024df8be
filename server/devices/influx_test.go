package devices_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/onefold/onefold/server/accounts"
)

// TestInfluxDBsClient writes with InfluxDB's own JavaScript client, and reads back what it wrote:
// see e2e/influx.mjs.
func TestInfluxDBsClient(t *testing.T) {
	if testing.Short() {
		t.Skip("the time to run a program of Node.js is missing: leave -short out")
	}
	e2e := filepath.Join("..", "e2e")
	if _, err := os.Stat(filepath.Join(e2e, "node_modules", "@influxdata", "influxdb-client")); err != nil {
		t.Skip("InfluxDB's client is missing: run `npm ci --prefix server/e2e`, as `make browser` does; it needs Node.js 20 or newer")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is missing: install version 20 or newer")
	}
	w := newWorks(t)
	w.owner.Want(http.StatusOK, `"perMinute":60`, http.MethodPatch, "/api/v1/fleets/other", `{"limits":{"perMinute":60}}`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join(e2e, "influx.mjs"))
	cmd.Env = append(os.Environ(), "SERVER="+w.URL, "KEY="+w.keys[accounts.Ingest], "READ="+w.keys[accounts.Read],
		"TOKEN="+w.tokens["d1"], "SLOW="+w.theirs[accounts.Ingest])
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
