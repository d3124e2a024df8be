package webanalytics_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// picture is everything that a site reports about some days without reading visits.
type picture struct {
	total   sheet
	buckets []sheet // days
	rows    map[string]map[string]ledgerRow
}

func (l *ledger) picture(query string) *picture {
	l.Helper()
	p := &picture{rows: map[string]map[string]ledgerRow{}}
	p.total, p.buckets = l.totals(query)
	for _, d := range append(slices.Clone(analytics.Dimensions), "prop:plan") {
		p.rows[string(d)] = l.rows(string(d), query)
	}
	return p
}

// compare checks the responses of a site.
func (l *ledger) compare(query string, want *picture) {
	l.Helper()
	got := l.picture(query)
	if got.total != want.total || !slices.Equal(got.buckets, want.buckets) {
		l.Errorf("%s: the total is %+v, want %+v; by day %+v, want %+v", query, got.total, want.total, got.buckets, want.buckets)
	}
	for by, rows := range want.rows {
		for value, row := range rows {
			if got.rows[by][value] != row {
				l.Errorf("%s: by %s %q is %+v, want %+v", query, by, value, got.rows[by][value], row)
			}
		}
		if len(got.rows[by]) != len(rows) {
			l.Errorf("%s: by %s there are %d rows, want %d", query, by, len(got.rows[by]), len(rows))
		}
	}
}

// pass advances the clock, and lets old data expire.
func (l *ledger) pass(d time.Duration) {
	l.Helper()
	l.db.now = l.db.now.Add(d)
	_, err := l.db.ExpireNow(l.Context())
	servertest.Must(l.T, err)
	l.rollUp()
}

func (l *ledger) rollUp() {
	l.Helper()
	servertest.Must(l.T, l.Worker.Drain(l.Context()))
	_, err := reconcile.RollUp(l.Context(), l.Table, "blog", l.Table.Now())
	servertest.Must(l.T, err)
	servertest.Must(l.T, l.Worker.Drain(l.Context()))
}

// TestSumsOutliveEvents compares responses over days with those from before their events expired,
// and then their hours.
func TestSumsOutliveEvents(t *testing.T) { seeds.Run(t, 1, sumsOutliveEvents) }

func sumsOutliveEvents(t *testing.T, seed uint64) {
	l := newLedger(t, "Europe/Berlin", "2026-03-28", "2026-04-05", nil)
	from, to := l.bounds()
	l.ingest(deeds(rand.New(rand.NewPCG(seed, 3)), 80, from, to))
	l.db.now = l.db.now.Add(24 * time.Hour)
	l.rollUp()
	whole, part := "from="+l.from+"&to="+l.to, "from=2026-03-29&to=2026-04-02"
	then := map[string]*picture{whole: l.picture(whole), part: l.picture(part)}
	for _, passed := range []int{31, 61} { // events are kept for 30 days, hours for 90
		l.pass(time.Duration(passed) * 24 * time.Hour)
		for query, want := range then {
			l.compare(query, want)
			l.noHours = passed == 61
			l.addsUp(query)
		}
	}
}

// TestSumsAfterErasure erases some people of a site, and compares it with a site that they never
// visited.
func TestSumsAfterErasure(t *testing.T) { seeds.Run(t, 1, sumsAfterErasure) }

func sumsAfterErasure(t *testing.T, seed uint64) {
	erased := newLedger(t, "Europe/Berlin", "2026-03-28", "2026-04-05", nil)
	without := newLedger(t, "Europe/Berlin", "2026-03-28", "2026-04-05", nil)
	from, to := erased.bounds()
	hits := deeds(rand.New(rand.NewPCG(seed, 4)), 80, from, to)
	gone := map[string]string{} // names, by address
	for i := range hits {
		h := &hits[i]
		h.At = h.At.Add(time.Duration(i) * time.Millisecond) // within one millisecond, IDs decide which is first, and these differ
		if strings.HasSuffix(h.Address, "3") || strings.HasSuffix(h.Address, "7") {
			h.UserID = "user-" + h.Address
			gone[h.Address] = h.UserID
		}
	}
	erased.ingest(hits)
	without.ingest(slices.DeleteFunc(slices.Clone(hits), func(h analytics.Hit) bool { return gone[h.Address] != "" }))
	if seed%2 == 0 {
		erased.rollUp()
	}
	admin := erased.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	for _, address := range slices.Sorted(maps.Keys(gone)) {
		admin.Want(http.StatusOK, `"events"`, http.MethodPost, "/api/v1/sites/blog/erasure", fmt.Sprintf(`{"userId":%q}`, gone[address]))
	}
	servertest.Must(t, erased.Worker.Drain(t.Context()))
	for _, days := range []string{"from=" + erased.from + "&to=" + erased.to, "from=2026-03-29&to=2026-04-02"} {
		erased.compare(days, without.picture(days))
		erased.compare(days+all, without.picture(days+all))
		erased.addsUp(days)
		erased.addsUp(days + "&filter=hostname:is:shop.example")
		erased.addsUp(days + "&filter=page:contains:/b")
	}
	erased.rollUp()
	without.rollUp()
	erased.compare("from="+erased.from+"&to="+erased.to, without.picture("from="+erased.from+"&to="+erased.to))
}
