package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
)

// A server reports the lag only of what it folds itself. It is unknown if others fold, and if
// others read all shards. Neither is 0.
func TestHealthOmitsLagOfOthers(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		options      fold.Options
	}{
		{"in the process", "", fold.Options{}},
		{"elsewhere", "no worker in this process", fold.Options{Group: "others", Leases: true, LeaseFree: true, Owner: "server"}},
		{"no shard", "the worker in this process reads no shards", fold.Options{Group: "shared", Leases: true, Owner: "server"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := servertest.New(t, func(o *server.Options) {
				if c.options.Leases {
					worker, err := fold.NewWorker(o.Table, noShards{}, analytics.Folds(analytics.Config{}), c.options)
					servertest.Must(t, err)
					o.Worker = worker
				}
				if !c.options.LeaseFree {
					servertest.Must(t, o.Worker.Drain(t.Context()))
				}
			})
			status, body := h.Get("/healthz")
			var told struct {
				Status     string   `json:"status"`
				LagSeconds *float64 `json:"lagSeconds"`
				LagReason  string   `json:"lagReason"`
			}
			servertest.Must(t, json.Unmarshal([]byte(body), &told))
			if status != http.StatusOK || told.Status != "ok" || (told.LagSeconds == nil) != (c.reason != "") || told.LagReason != c.reason {
				t.Errorf("%d %s", status, body)
			}
			if !strings.Contains(body, `"lagSeconds"`) {
				t.Errorf("it does not say that the lag is unknown: %s", body)
			}
			if _, metrics := h.Get("/metrics"); strings.Contains(metrics, "\nonefold_fold_lag_seconds ") != (c.reason == "") {
				t.Errorf("metrics tell a lag that is not known, or none: %v", c.reason)
			}
		})
	}
}

// noShards is a stream all of whose shards others read.
type noShards struct{}

func (noShards) Shards(context.Context) ([]fold.Shard, error) { return nil, nil }

func (noShards) Read(context.Context, fold.ReadRequest) (fold.Batch, error) { return fold.Batch{}, nil }
