package analytics

import (
	"fmt"
	"testing"

	"github.com/onefold/onefold/table"
)

// TestResent sends events again through another server of a shared table, which does not know that
// they are stored. From the same network they count once in any case, because they are in the same
// shard. From another network they count once if they are marked as resent.
func TestResent(t *testing.T) {
	for _, c := range []struct {
		name    string
		network string // of the second attempt
		resent  bool
	}{{"same network", "192.0.2.", false}, {"same network, marked", "192.0.2.", true}, {"another network, marked", "198.51.100.", true}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, noon)
			s := w.site("site", "UTC")
			first, second := w.server(), w.server()
			hit := func(i int, network string) Hit {
				return Hit{EventID: newULID(uint64(noon.UnixMilli()), uint64(i), 0).String(), Path: "/", Address: fmt.Sprint(network, i), UserAgent: "test"}
			}
			before := hit(1000, "203.0.113.") // the second server reads the span before the events arrive
			if _, err := second.Ingest(w.Ctx, "site", []Hit{before}); err != nil {
				t.Fatal(err)
			}
			var hits, again []Hit
			for i := range 40 {
				hits, again = append(hits, hit(i, "192.0.2.")), append(again, hit(i, c.network))
				again[i].Resent = c.resent
			}
			_, err := first.Ingest(w.Ctx, "site", hits)
			w.Must(err)
			for _, size := range []int{1, 7, 32} { // some alone, some together
				outcomes, err := second.Ingest(w.Ctx, "site", again[:size])
				w.Must(err)
				for i, o := range outcomes {
					if o.EventID != again[i].EventID || c.resent && o.Status != Duplicate {
						t.Fatalf("outcome %d of %d: %+v", i, size, o)
					}
				}
				again = again[size:]
			}
			w.Drain()
			views := int64(0)
			for _, h := range w.hours(s) {
				views += h.PageViews
			}
			if views != 41 {
				t.Errorf("%d page views, want 41", views)
			}
		})
	}
}

// server returns the collector of another process, which does not see what others store.
func (w *world) server() *Collector {
	return NewCollector(table.New(plain{w.DB}, w.Table.Name(), table.Options{Clock: w.Now}), CollectorOptions{})
}
