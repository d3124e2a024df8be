package main

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// front distributes requests over the servers of a cluster in turn, like a load balancer without
// session affinity.
func (c *cluster) front() string {
	c.Helper()
	var turn atomic.Uint64
	web := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		to, err := url.Parse(*c.servers[turn.Add(1)%uint64(len(c.servers))].url.Load())
		if err != nil {
			c.Error(err)
			return
		}
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}})
	c.Cleanup(web.Close)
	return web.URL
}

// folded waits until the workers have folded all stored changes, and the changes that follow from
// them.
func (c *cluster) folded() {
	c.Helper()
	servertest.Must(c.T, c.globals().withStore(c.Context(), c.Output(), tuning{existing: true}, func(st *store) error {
		for range longestChain {
			for stored := time.Now(); ; time.Sleep(50 * time.Millisecond) { // other processes
				o, err := fold.Read(c.Context(), st.table, products.Group)
				if err != nil {
					return err
				}
				if o.Known && o.At.Add(-o.Lag()).After(stored) {
					break
				}
			}
		}
		return nil
	}))
}

const longestChain = 4 // maximum length of a chain of folds in which each reads the results of another

// The pages work on two servers and three workers as on one server, although every request goes to
// another server than the one before. TestTheDashboardInABrowser of package server and
// TestEventsInABrowser of package events check the looks of the pages, with the same scripts.
func TestPagesOfManyServers(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	for _, script := range []string{"dashboard.mjs", "devices.mjs", "events.mjs"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			c, link := newCluster(t, 1, 2, 3), ""
			servertest.Must(t, c.globals().withStore(t.Context(), t.Output(), tuning{}, func(st *store) (err error) {
				if _, err = analytics.CreateSite(t.Context(), st.table, analytics.NewSite{ID: "blog", TimeZone: "UTC"}); err != nil {
					return err
				}
				if script == "dashboard.mjs" {
					servertest.Fill(t, analytics.NewCollector(st.table, analytics.CollectorOptions{}), "blog", 10, 50)
				}
				link, err = accounts.New(st.table, accounts.Options{}).SetupToken(t.Context())
				return err
			}))
			c.start()
			c.folded()
			cmd := servertest.Script(t, script, c.front(), link, os.Getenv("ONEFOLD_TEST_SHOTS"))
			cmd.Env = append(cmd.Env, "ONEFOLD_TEST_AUDITED=1")
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
			c.stop()
		})
	}
}
