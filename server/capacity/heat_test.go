package capacity_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

var start = time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)

type told struct {
	Metered bool
	Hottest []float64
	Keys    []struct {
		Key, Fix           string
		PeakWrites, Share  float64
		Writes             []float64
		Hot, Brief         bool
		Entities, Patterns []string
		Spread             *struct {
			Site                  string
			Shards, Advised, Next int
			From                  time.Time
		}
	}
}

func heatOf(who *servertest.Person) told {
	who.Helper()
	var answer told
	servertest.Must(who.T, json.Unmarshal([]byte(who.Want(http.StatusOK, `"metered":true`, http.MethodGet, "/api/v1/heat", "")), &answer))
	return answer
}

// A rush makes a key hot; the owner of the site spreads its events while the server runs; the next
// rush makes no key hot.
func TestSpreadingCoolsHotSite(t *testing.T) {
	m := servertest.NewMetered(t, start)
	admin := m.NewPerson("admin@example.com", accounts.Grants{accounts.AllSites: accounts.Admin})
	owner := m.NewPerson("owner@example.com", accounts.Grants{"shop": accounts.Owner})
	servertest.Must(t, m.Rush(900))
	if k := heatOf(admin).Keys[0]; !k.Hot || !k.Brief {
		t.Errorf("after one minute: %+v", k)
	}
	servertest.Must(t, m.Rush(900))
	hot := heatOf(admin)
	k := hot.Keys[0]
	if k.Brief || k.Key != "SITE#shop#SHARD#0" || !k.Hot || k.PeakWrites < 900 || slices.Max(k.Writes) != k.PeakWrites || slices.Max(hot.Hottest) != k.Share ||
		!slices.Contains(k.Entities, "analytics.block") || !strings.HasPrefix(k.Patterns[0], "W1 ") || !strings.Contains(k.Fix, "reshard shop") {
		t.Fatalf("the hottest key: %+v", k)
	}
	if k.Spread == nil || k.Spread.Site != "shop" || k.Spread.Shards != 1 || k.Spread.Advised != 2 || k.Spread.Next != 0 {
		t.Fatalf("advice %+v", k.Spread)
	}
	for i, calm := range hot.Keys[1:] {
		if calm.Hot || calm.Fix != "" || calm.Spread != nil || calm.Share > hot.Keys[i].Share {
			t.Errorf("key %+v", calm)
		}
	}

	const shards = "/api/v1/sites/shop/shards"
	admin.Want(http.StatusForbidden, "forbidden", http.MethodPut, shards, `{"shards":4}`)
	for _, bad := range []string{`{"shards":0}`, `{"shards":257}`, `{"shards":"4"}`, `{}`} {
		owner.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodPut, shards, bad)
	}
	for range 2 { // the second changes nothing
		var site struct{ Shards []struct{ Shards int } }
		servertest.Must(t, json.Unmarshal([]byte(owner.Want(http.StatusOK, "", http.MethodPut, shards, `{"shards":4}`)), &site))
		if len(site.Shards) != 2 || site.Shards[1].Shards != 4 {
			t.Errorf("shards %+v", site.Shards)
		}
	}
	if at := heatOf(admin).Keys[0].Spread; at.Shards != 1 || at.Next != 4 || !at.From.After(m.DB.Now()) {
		t.Errorf("before its time: %+v", at)
	}
	m.DB.Advance(15 * time.Minute)
	servertest.Must(t, m.Rush(900))
	k = heatOf(admin).Keys[0]
	if last := k.Writes[len(k.Writes)-1]; k.Spread.Shards != 4 || k.Spread.Next != 4 || last > 500 {
		t.Errorf("after its time: %+v, %g writes in the last rush", k.Spread, last)
	}
	site, err := analytics.GetSite(t.Context(), m.Table, "shop")
	servertest.Must(t, err)
	events, err := analytics.EventsBetween(&site, m.DB.Now().Add(-time.Hour), m.DB.Now().Add(time.Hour), "").Collect(t.Context(), m.Table)
	if err != nil || len(events) != 2700 {
		t.Errorf("%d events of 2,700, error %v", len(events), err)
	}
	all := m.NewPerson("all@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	all.Want(http.StatusOK, "site.reshard", http.MethodGet, "/api/v1/audit", "")
}

// The load is shown, but not the people: keys of users, devices, aggregates and accounts are
// anonymized.
func TestPersonalKeysAreAnonymized(t *testing.T) {
	m := servertest.NewMetered(t, start)
	all := m.NewPerson("zoe@example.com", accounts.Grants{accounts.AllSites: accounts.Owner, accounts.EventStore: accounts.Owner})
	all.Want(http.StatusCreated, `"plant"`, http.MethodPost, "/api/v1/fleets", `{"id":"plant","timezone":"Europe/Berlin"}`)
	all.Want(http.StatusCreated, `"zoe-watch"`, http.MethodPost, "/api/v1/fleets/plant/devices", `{"id":"zoe-watch"}`)
	all.Want(http.StatusCreated, `"version"`, http.MethodPost, "/api/v1/events/aggregates/account/zoe@example.com/events", `{"events":[{"type":"Opened","data":{}}]}`)
	for range 5 { // her session grows
		outcomes, err := m.Collector.Ingest(t.Context(), "shop", []analytics.Hit{{Path: "/", UserAgent: servertest.Firefox, Address: "192.0.2.1", UserID: "zoe-the-user"}})
		if err != nil || outcomes[0].Status != analytics.Stored {
			t.Fatal(outcomes, err)
		}
		servertest.Must(t, m.Worker.Drain(t.Context()))
	}
	for range 2 {
		m.Minutes(1)
		text := all.Want(http.StatusOK, `"metered":true`, http.MethodGet, "/api/v1/heat?share=0.01", "")
		for _, key := range []string{`"SITE#shop#SHARD#0"`, `"USER#~`, `"DEVICE#~`, `"AGGREGATE#account#~`, `"ACCOUNT#USER#~`, `"FLEET#plant"`} {
			if !strings.Contains(text, `"key":`+key) {
				t.Errorf("no key %s in %s", key, text)
			}
		}
		if strings.Contains(text, "zoe") {
			t.Errorf("somebody is named: %s", text)
		}
	}
}

func TestHeatIsForAdminsOfAllSites(t *testing.T) {
	m := servertest.NewMetered(t, start)
	for i, grants := range []accounts.Grants{{accounts.AllSites: accounts.Viewer}, {"shop": accounts.Owner, accounts.EventStore: accounts.Owner}, {}} {
		m.NewPerson(fmt.Sprintf("%d@example.com", i), grants).Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/heat", "")
	}
	admin := m.NewPerson("admin@example.com", accounts.Grants{accounts.AllSites: accounts.Admin})
	for _, bad := range []string{"minutes=4", "minutes=1441", "share=0", "share=1.1", "share=NaN", "minutes=x"} {
		admin.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodGet, "/api/v1/heat?"+bad, "")
	}
	for _, good := range []string{"minutes=5&share=0.01", "minutes=1440&share=1"} {
		admin.Want(http.StatusOK, `"keys":[]`, http.MethodGet, "/api/v1/heat?"+good, "")
	}
	servertest.Must(t, m.Rush(100))
	if err := func() error { _, err := analytics.SetShards(t.Context(), m.Table, "shop", 0); return err }(); err == nil {
		t.Error("a site without partitions")
	}
}

// A server whose table is not metered here says so.
func TestUnmeteredTable(t *testing.T) {
	h := servertest.New(t, nil)
	h.NewPerson("admin@example.com", accounts.Grants{accounts.AllSites: accounts.Admin}).Want(http.StatusOK, `"metered":false`, http.MethodGet, "/api/v1/heat", "")
}
