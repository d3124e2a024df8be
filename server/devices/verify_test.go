package devices_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

const verifyPath = "/api/v1/fleets/plant/verify"

// verification is the API's result of a check.
type verification struct {
	State                  string
	Device, From, To       string
	Done, Of               int
	Readings, Checked      int64
	Count, Sealed, Waiting int64
	Rebuilt                int64
	FirstSealed, Problem   string
	Differences            []struct{ Item, Part, Device, Start, Field, Stored, Recomputed string }
}

// verified starts a check and waits for its end.
func (w *works) verified(body string) (v verification) {
	w.Helper()
	return w.recounted(verifyPath, body)
}

func (w *works) recounted(path, body string) (v verification) {
	w.Helper()
	w.owner.Want(http.StatusAccepted, `"id"`, http.MethodPost, path, body)
	for v.State = "running"; v.State == "running"; {
		_, answer := w.owner.Do(http.MethodGet, verifyPath, "")
		v = verification{}
		servertest.Must(w.T, json.Unmarshal([]byte(answer), &v))
	}
	return v
}

// measure sends a reading of d1 an hour ago, and returns the key of its hour's aggregate.
func (w *works) measure() (at time.Time, key telemetry.AggregateKey) {
	w.Helper()
	at = time.Now().UTC().Truncate(time.Hour).Add(-time.Hour)
	status, answer := w.Post("/api/readings", `{"at":"`+at.Format(time.RFC3339)+`","values":{"temp":21.5}}`, bearer(w.tokens["d1"])...)
	if status != http.StatusAccepted {
		w.Fatal(status, answer)
	}
	servertest.Must(w.T, w.Worker.Drain(w.Context()))
	return at, telemetry.AggregateKey{DeviceID: "d1", Period: telemetry.Hourly, Start: at.Format("2006-01-02T15:04:05Z")}
}

func (w *works) spoil(key telemetry.AggregateKey, change func(*telemetry.Aggregate)) {
	w.Helper()
	stored, err := fold.Load(w.Context(), w.Table, telemetry.Aggregates, []telemetry.AggregateKey{key})
	servertest.Must(w.T, err)
	change(&stored[0].State)
	servertest.Must(w.T, fold.ReplaceState(w.Context(), w.Table, telemetry.Aggregates, key, stored[0].State, stored[0].Version))
}

func TestVerifyFleet(t *testing.T) {
	w := newWorks(t)
	w.owner.Want(http.StatusOK, `"state":"never"`, http.MethodGet, verifyPath, "")
	at, key := w.measure()
	clean := w.verified(`{}`)
	if clean.State != "clean" || clean.Done != 2 || clean.Of != 2 || clean.Readings == 0 || clean.Checked == 0 || clean.Differences == nil || clean.To == "" {
		t.Errorf("an untouched fleet: %+v", clean)
	}
	w.spoil(key, func(a *telemetry.Aggregate) { a.Readings = 2 })
	found := w.verified(`{}`)
	if found.State != "differs" || found.Count != 1 || len(found.Differences) != 1 {
		t.Fatalf("%+v", found)
	}
	d := found.Differences[0]
	if d.Item != "hour d1 "+key.Start || d.Part != "hour" || d.Device != "d1" || d.Start != key.Start || d.Field != "wrong" || d.Stored != "2 readings" || d.Recomputed != "1 reading" {
		t.Errorf("%+v", d)
	}
	if only := w.verified(`{"device":"d2"}`); only.State != "clean" || only.Device != "d2" || only.Of != 1 {
		t.Errorf("another device: %+v", only)
	}
	before := at.AddDate(0, 0, -3).Format(time.DateOnly)
	if past := w.verified(`{"device":"d1","to":"` + before + `"}`); past.State != "clean" || past.To != before || past.From != at.AddDate(0, 0, -9).Format(time.DateOnly) {
		t.Errorf("other days: %+v", past)
	}
	w.spoil(key, func(a *telemetry.Aggregate) { a.Readings, a.RawUntil = 1, 1 })
	if sealed := w.verified(`{}`); sealed.State != "clean" || sealed.Sealed != 1 || sealed.FirstSealed != "d1 hourly "+key.Start {
		t.Errorf("an hour whose readings may have expired: %+v", sealed)
	}
}

func TestVerifyFleetIsGuarded(t *testing.T) {
	w := newWorks(t)
	for _, bad := range []string{`{"from":"yesterday"}`, `{"to":"2026-02-30"}`, `{"from":"2026-05-13","to":"2026-05-12"}`} {
		w.owner.Want(http.StatusUnprocessableEntity, "bad_range", http.MethodPost, verifyPath, bad)
	}
	w.owner.Want(http.StatusNotFound, "not_found", http.MethodPost, verifyPath, `{"device":"theirs"}`)
	w.owner.Want(http.StatusNotFound, "not_found", http.MethodPost, verifyPath, `{"device":"nobody"}`)
	w.owner.Want(http.StatusNotFound, "not_found", http.MethodPost, "/api/v1/fleets/nothing/verify", `{}`)
	w.owner.Want(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/fleets/nothing/verify", "")
	viewer := w.NewPerson("viewer@example.org", accounts.Grants{accounts.OfFleet("plant"): accounts.Viewer})
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, verifyPath, `{}`)
	viewer.Want(http.StatusOK, `"never"`, http.MethodGet, verifyPath, "")
	stranger := w.NewPerson("stranger@example.org", accounts.Grants{accounts.OfFleet("other"): accounts.Owner})
	stranger.Want(http.StatusForbidden, "forbidden", http.MethodPost, verifyPath, `{}`)
	stranger.Want(http.StatusForbidden, "forbidden", http.MethodGet, verifyPath, "")
	for name, c := range map[string]struct {
		token  string
		status int
	}{"ingest": {w.keys[accounts.Ingest], http.StatusForbidden}, "read": {w.keys[accounts.Read], http.StatusOK}, "theirs": {w.theirs[accounts.Read], http.StatusForbidden}, "device": {w.tokens["d1"], http.StatusUnauthorized}} {
		if status, answer := w.Get(verifyPath, bearer(c.token)...); status != c.status {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if status, answer := w.Post(verifyPath, `{}`, bearer(w.keys[accounts.Read])...); status != http.StatusForbidden || !strings.Contains(answer, "forbidden") {
		t.Errorf("a key for reading begins a comparison: %d %s", status, answer)
	}
}

// A rebuild replaces what differs, reports it, and is for owners only.
func TestRebuildFleet(t *testing.T) {
	const path = "/api/v1/fleets/plant/rebuild"
	w := newWorks(t)
	_, key := w.measure()
	if clean := w.recounted(path, `{}`); clean.State != "clean" || clean.Rebuilt != 0 {
		t.Errorf("an untouched fleet: %+v", clean)
	}
	w.spoil(key, func(a *telemetry.Aggregate) { a.Readings = 2 })
	if v := w.recounted(path, `{}`); v.State != "rebuilt" || v.Count != 1 || v.Rebuilt != 1 || len(v.Differences) != 1 {
		t.Errorf("a spoiled hour: %+v", v)
	}
	if v := w.verified(`{}`); v.State != "clean" {
		t.Errorf("after the rebuild: %+v", v)
	}
	if status, _ := w.Post(path, `{}`, bearer(w.keys[accounts.Write])...); status != http.StatusForbidden {
		t.Errorf("a key that writes rebuilds: %d", status)
	}
	w.owner.Want(http.StatusOK, `"fleet.rebuild"`, http.MethodGet, "/api/v1/audit", "")
}
