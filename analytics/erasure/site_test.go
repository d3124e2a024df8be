package erasure

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// A deleted site leaves nothing behind, wherever its purge is interrupted, and other sites lose
// nothing.
func TestDeleteSite(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	w := newWorld(t)
	w.site("gone")
	all, _ := draw(r, 200)
	w.ingest("site", all...)
	w.ingest("gone", all...)
	w.settle()
	_, err := analytics.SetShards(w.Ctx, w.Table, "gone", 7)
	w.Must(err)
	w.Advance(time.Hour)
	w.ingest("gone", analytics.Hit{Address: "1", Path: "/"})
	want := w.figures()
	w.Must(DeleteSite(w.Ctx, w.Table, "gone"))
	if _, err := analytics.GetSite(w.Ctx, w.Table, "gone"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
	if err := DeleteSite(w.Ctx, w.Table, "gone"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	if done, err := Purge(w.Ctx, w.Table, w.Worker, "gone"); err != nil || !done.Waiting {
		t.Errorf("at once: %+v, %v", done, err)
	}
	w.Advance(analytics.SettingsNotice)
	if _, err := w.collector.Ingest(w.Ctx, "gone", all[:1]); !errors.Is(err, analytics.ErrUnknownSite) {
		t.Errorf("an event: %v", err)
	}
	broken := errors.New("broken off")
	for n := range 4 {
		left := n
		done, err := Purge(w.Ctx, w.Table, drainer(func(ctx context.Context) error {
			if left--; left < 0 {
				return broken
			}
			return w.Worker.Drain(ctx)
		}), "gone")
		t.Logf("%+v, %v", done, err)
		if err != nil && !errors.Is(err, broken) && !errors.Is(err, table.ErrNotFound) {
			t.Fatal(err)
		}
	}
	if _, err := Purge(w.Ctx, w.Table, w.Worker, "gone"); err != nil && !errors.Is(err, table.ErrNotFound) {
		t.Fatal(err)
	}
	w.settle()
	for _, key := range w.items("gone") {
		if strings.Contains(key, "gone") {
			t.Errorf("%s is left", key)
		}
	}
	for s, err := range DeletedSites(w.Ctx, w.Table, "") {
		t.Errorf("%s waits, %v", s.SiteID, err)
	}
	_, err = analytics.CreateSite(w.Ctx, w.Table, analytics.NewSite{ID: "theirs", OwnerID: "somebody"})
	w.Must(err)
	w.Must(DeleteSite(w.Ctx, w.Table, "theirs"))
	for s, err := range DeletedSites(w.Ctx, w.Table, "") { // of any owner
		if w.Must(err); s.SiteID != "theirs" {
			t.Errorf("%s waits", s.SiteID)
		}
		w.Advance(analytics.SettingsNotice)
		_, err := Purge(w.Ctx, w.Table, w.Worker, s.SiteID)
		w.Must(err)
	}
	if slices.ContainsFunc(w.items("theirs"), func(key string) bool { return strings.Contains(key, "theirs") }) {
		t.Error("a site of another owner is left")
	}
	w.checkSame(want)
	if _, err := Purge(w.Ctx, w.Table, w.Worker, "site"); err == nil {
		t.Error("a site that is not deleted is purged")
	}
}

// Expired salts are deleted even if the store does not delete them.
func TestSalts(t *testing.T) {
	w := newWorld(t)
	for range 8 {
		w.ingest("site", analytics.Hit{Address: "1", Path: "/"})
		w.Advance(24 * time.Hour)
	}
	salts := func() (n int) {
		for _, key := range w.items("analytics.salt") {
			if strings.Contains(key, "SALT#") {
				n++
			}
		}
		return n
	}
	if n := salts(); n != 8 {
		t.Fatalf("%d salts", n)
	}
	w.Must(Salts(w.Ctx, w.Table, "site"))
	if n := salts(); n != 3 {
		t.Errorf("%d salts are left", n)
	}
	day := analytics.SaltKey{SiteID: "site", Day: w.Now().Add(-24 * time.Hour).Format(time.DateOnly)}
	if _, err := analytics.Salts.Get(w.Ctx, w.Table, day); err != nil {
		t.Errorf("that of yesterday: %v", err)
	}
}
