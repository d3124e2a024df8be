package events_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/events"
	"github.com/onefold/onefold/server/servertest"
)

type total struct{ Events int }

// totals gives a server a projection that fails on bad events until mended is set.
func totals(t *testing.T, mended *atomic.Bool) func(*server.Options) {
	return func(o *server.Options) {
		store, err := eventstore.New(o.Table, eventstore.Options{})
		servertest.Must(t, err)
		p, err := projection.Define(o.Table, store, projection.Definition[total]{
			Name: "totals", Version: 1, Of: []string{"order"}, Apply: func(n *total, e *eventstore.Event) error {
				if n.Events++; e.EventType == "Bad" && !mended.Load() {
					return errors.New("nobody understands this")
				}
				return nil
			},
		}, projection.Options{Logger: slog.New(slog.DiscardHandler)})
		servertest.Must(t, err)
		o.Events.Projections = []events.Projection{p}
	}
}

// A projection is rebuilt; events that cannot be applied are reported, and applied after a fix.
func TestProjections(t *testing.T) {
	var mended atomic.Bool
	inEveryShop(t, func(s *shop) {
		mended.Store(false)
		testProjections(s, &mended)
	}, totals(t, &mended))
}

func testProjections(s *shop, mended *atomic.Bool) {
	t := s.T
	const path = "/api/v1/events/projections"
	s.append("1", some(3))
	s.append("2", `{"events":[{"type":"Counted"},{"type":"Bad"},{"type":"Counted"}]}`)
	servertest.Must(t, s.Worker.Drain(t.Context()))
	s.owner.Want(200, `{"name":"totals","version":1,"parked":0}`, "GET", path, "")
	rebuilt := func(want string) {
		t.Helper()
		s.owner.Want(202, "", "POST", path+"/totals/rebuild", "")
		for {
			answer := s.owner.Want(200, "", "GET", path, "")
			var told struct {
				Projections []struct{ Rebuild struct{ Running bool } }
			}
			servertest.Must(t, json.Unmarshal([]byte(answer), &told))
			if told.Projections[0].Rebuild.Running {
				continue
			}
			if !strings.Contains(answer, want) {
				t.Errorf("%s, want %s", answer, want)
			}
			return
		}
	}
	rebuilt(`"fewer":1`)
	s.owner.Want(200, `"parked":[{"aggregateType":"order","aggregateId":"2","applied":1,"version":3,"reason":`, "GET", path+"/totals/parked", "")
	s.owner.Want(200, `"aggregateId":"2"`, "POST", path+"/totals/retry", "")
	mended.Store(true)
	s.owner.Want(200, `{"parked":[]}`, "POST", path+"/totals/retry", "")
	rebuilt(`"parked":0,"rebuild":{"running":false,`)
	s.owner.Want(200, `"served":{"version":1,`, "GET", path, "")
	s.owner.Want(404, "no_such_projection", "GET", path+"/none/parked", "")
	s.owner.Want(404, "no_such_projection", "POST", path+"/none/rebuild", "")
	s.owner.Want(200, "projection.rebuild", "GET", "/api/v1/audit", "")
	s.owner.Want(200, "projection.retry", "GET", "/api/v1/audit", "")
	web := s.Browser()
	web.Want(200, "totals", "GET", path, "", s.keys[accounts.Read]...)
	web.Want(403, "forbidden", "POST", path+"/totals/rebuild", "", s.keys[accounts.Read]...)
	web.Want(403, "forbidden", "POST", path+"/totals/retry", "", s.keys[accounts.Ingest]...)
	s.stranger.Want(403, "forbidden", "GET", path+"/totals/parked", "")
}
