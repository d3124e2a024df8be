package analytics

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/table"
)

func TestSites(t *testing.T) {
	w := newWorld(t, noon)
	made, err := CreateSite(w.Ctx, w.Table, NewSite{ID: "b", Domains: []string{"WWW.Example.com"}})
	w.Must(err)
	if made.OwnerID != DefaultOwner || made.TimeZone != "UTC" || made.Domains[0] != "example.com" || len(made.ImportKey) != 32 ||
		made.Sharding.At(noon) != defaultShards {
		t.Errorf("%+v", made)
	}
	if _, err := CreateSite(w.Ctx, w.Table, NewSite{ID: "b"}); !errors.Is(err, table.ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	_, err = CreateSite(w.Ctx, w.Table, NewSite{ID: "a"})
	w.Must(err)
	_, err = CreateSite(w.Ctx, w.Table, NewSite{ID: "c", OwnerID: "other"})
	w.Must(err)
	_, err = CreateSite(w.Ctx, w.Table, NewSite{ID: "d"})
	w.Must(err)
	_, err = UpdateSite(w.Ctx, w.Table, "d", func(s *Site) error { s.OwnerID = "third"; return nil })
	w.Must(err)
	for owner, want := range map[string]string{"": "a b c d", DefaultOwner: "a b", "other": "c", "third": "d", "nobody": ""} {
		var ids []string
		for s, err := range ListSites(w.Ctx, w.Table, owner) {
			w.Must(err)
			ids = append(ids, s.SiteID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("sites of %q: %s, want %s", owner, got, want)
		}
	}
	if _, err := GetSite(w.Ctx, w.Table, "none"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("unknown site: %v", err)
	}
}

func TestCreateSiteErrors(t *testing.T) {
	w := newWorld(t, noon)
	for name, n := range map[string]NewSite{
		"no id": {}, "id": {ID: "a#b"}, "zone": {ID: "a", TimeZone: "Mars/Base"}, "shards": {ID: "a", Shards: 1000},
		"domain": {ID: "a", Domains: []string{"https://example.com/x"}}, "owner": {ID: "a", OwnerID: "x#y"},
		"domains": {ID: "a", Domains: make([]string, maxDomains+1)},
	} {
		if _, err := CreateSite(w.Ctx, w.Table, n); !errors.Is(err, ErrSite) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := CreateSite(w.Ctx, w.Table, NewSite{ID: "a", Retention: Retention{HourDays: 7}}); !errors.Is(err, ErrRetention) {
		t.Errorf("retention: %v", err)
	}
}

func TestUpdateSite(t *testing.T) {
	w := newWorld(t, noon)
	made := w.site("site", "UTC")
	changed, err := UpdateSite(w.Ctx, w.Table, "site", func(s *Site) error {
		s.Domains, s.ImportKey, s.Sharding = []string{"new.example"}, nil, nil
		return nil
	})
	w.Must(err)
	if changed.Domains[0] != "new.example" || string(changed.ImportKey) != string(made.ImportKey) || changed.Sharding.At(noon) != testShards {
		t.Errorf("%+v", changed)
	}
	zone := func(name string) error {
		_, err := UpdateSite(w.Ctx, w.Table, "site", func(s *Site) error { s.TimeZone = name; return nil })
		return err
	}
	if err := zone("Asia/Tokyo"); err != nil {
		t.Errorf("time zone of a site without events: %v", err)
	}
	w.collector.Forget("site")
	w.ingest("site", Hit{URL: "https://new.example/", Address: "1"})
	if err := zone("UTC"); !errors.Is(err, ErrSite) {
		t.Errorf("time zone: %v", err)
	}
	for name, change := range map[string]func(*Site){
		"currency":   func(s *Site) { s.Currency = "euro" },
		"name":       func(s *Site) { s.Name = string(make([]byte, maxSiteName+1)) },
		"properties": func(s *Site) { s.CustomProperties = make([]string, MaxCustomProperties+1) },
		"property":   func(s *Site) { s.CustomProperties = []string{"a#b"} },
		"twice":      func(s *Site) { s.CustomProperties = []string{"a", "a"} },
	} {
		if _, err := UpdateSite(w.Ctx, w.Table, "site", func(s *Site) error { change(s); return nil }); !errors.Is(err, ErrSite) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSetShards checks that a retry finds its event where it was stored before the number of shards
// changed, and that a visitor's day stays in one shard.
func TestSetShards(t *testing.T) {
	w := newWorld(t, noon)
	w.site("site", "UTC")
	var hits []Hit
	for i := range 40 {
		hits = append(hits, Hit{EventID: newULID(uint64(noon.UnixMilli()), uint64(i), 0).String(), Path: "/", Address: fmt.Sprint("192.0.2.", i%20), UserAgent: "test",
			Client: Client{Browser: "Firefox", Device: "desktop", Language: "en"}})
	}
	w.ingest("site", hits...)
	s, err := SetShards(w.Ctx, w.Table, "site", 16)
	w.Must(err)
	if s.Sharding.At(noon.Add(maxFuture)) != testShards || s.Sharding.At(noon.Add(time.Hour)) != 16 {
		t.Errorf("%+v", s.Sharding)
	}
	w.Set(noon.Add(time.Hour))
	for _, o := range w.ingest("site", hits...) {
		if o.Status != Duplicate {
			t.Fatalf("%+v", o)
		}
	}
	for i := range hits {
		hits[i].EventID = newULID(uint64(w.Now().UnixMilli()), uint64(i), 0).String()
	}
	w.ingest("site", hits...)
	shards, days := map[int]bool{}, map[string]int{}
	for _, e := range w.events(s, noon.Add(-time.Minute), noon.Add(2*time.Hour)) {
		shards[e.Shard] = true
		if shard, seen := days[e.VisitorID]; seen && shard != e.VisitorShard || e.VisitorShard >= testShards {
			t.Errorf("the day of visitor %s is in shards %d and %d", e.VisitorID, shard, e.VisitorShard)
		}
		days[e.VisitorID] = e.VisitorShard
	}
	if len(shards) <= testShards || len(days) != 20 {
		t.Errorf("events of %d visitors in shards %v", len(days), shards)
	}
	w.Drain()
	w.checkFolded(s, noon.Add(-time.Hour), noon.Add(3*time.Hour))
}
