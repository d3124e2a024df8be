package webanalytics_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// TestComparedDays compares ranges by weekday and by date.
func TestComparedDays(t *testing.T) {
	h := servertest.NewWithVisits(t)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	for query, want := range map[string][3]string{
		"from=2026-10-29&to=2026-11-27&compare=previous":                        {"2026-09-24", "2026-10-23", "weekday"},
		"from=2026-10-29&to=2026-11-27&compare=previous&align=date":             {"2026-09-29", "2026-10-28", "date"},
		"from=2026-10-29&to=2026-11-27&compare=year":                            {"2025-10-30", "2025-11-28", "weekday"},
		"from=2026-10-29&to=2026-11-27&compare=year&align=date":                 {"2025-10-29", "2025-11-27", "date"},
		"from=2026-11-21&to=2026-11-27&compare=previous":                        {"2026-11-14", "2026-11-20", "weekday"},
		"from=2026-11-27&to=2026-11-27&compare=previous&period=hour":            {"2026-11-20", "2026-11-20", "weekday"},
		"from=2026-11-27&to=2026-11-27&compare=previous&period=hour&align=date": {"2026-11-26", "2026-11-26", "date"},
		"from=2025-12-01&to=2026-11-27&compare=previous&period=month":           {"2024-12-01", "2025-11-27", "date"},
		"from=2025-12-01&to=2026-11-27&compare=year&period=month":               {"2024-12-01", "2025-11-27", "date"},
		"from=2026-02-01&to=2026-07-31&compare=previous&period=month":           {"2025-08-01", "2026-01-31", "date"},
		"from=2026-04-01&to=2026-05-31&compare=previous&period=month":           {"2026-02-01", "2026-03-31", "date"},
		"from=2026-05-01&to=2026-05-31&compare=previous&period=month":           {"2026-04-01", "2026-04-30", "date"},
		"from=2026-02-01&to=2026-02-28&compare=previous&period=month":           {"2026-01-01", "2026-01-31", "date"},
		"from=2026-05-01&to=2026-06-30&compare=previous&period=month":           {"2026-03-01", "2026-04-30", "date"},
		"from=2026-04-01&to=2026-06-30&compare=previous&period=month":           {"2026-01-01", "2026-03-31", "date"},
		"from=2025-02-01&to=2025-02-28&compare=year&period=month":               {"2024-02-01", "2024-02-29", "date"},
		"from=2025-02-01&to=2025-02-28&compare=year&align=date":                 {"2024-02-01", "2024-02-28", "date"},
		"from=2024-02-29&to=2024-02-29&compare=year&align=date":                 {"2023-02-28", "2023-02-28", "date"},
		"from=2026-10-15&to=2026-11-27&compare=previous&period=month":           {"2026-09-01", "2026-10-14", "date"},
		"from=2025-09-01&to=2026-11-27&compare=year&period=day":                 {"2023-09-04", "2024-11-29", "weekday"},
	} {
		if got := comparedWith(t, viewer, query); got != want {
			t.Errorf("%s: compared with %v, want %v", query, got, want)
		}
	}
	viewer.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodGet, "/api/v1/sites/blog/stats?align=moon", "")
}

// comparedWith returns the first and last day of the comparison, and its alignment.
func comparedWith(t *testing.T, viewer *servertest.Person, query string) [3]string {
	t.Helper()
	var got struct{ PreviousFrom, PreviousTo, Align string }
	servertest.Must(t, json.Unmarshal([]byte(viewer.Want(http.StatusOK, "previousFrom", http.MethodGet, "/api/v1/sites/blog/stats?"+query, "")), &got))
	return [3]string{got.PreviousFrom, got.PreviousTo, got.Align}
}

// TestComparedDaysAreTheSameWeekdays compares random ranges: aligned by weekday, they begin on the
// same weekday, have the same length and do not overlap.
func TestComparedDaysAreTheSameWeekdays(t *testing.T) {
	h := servertest.NewWithVisits(t)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	seeds.Run(t, 20, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		from := time.Date(2026, 1, 1+rng.IntN(300), 0, 0, 0, 0, time.UTC)
		to := from.AddDate(0, 0, rng.IntN(90))
		for _, with := range []string{"previous", "year"} {
			got := comparedWith(t, viewer, url.Values{"from": {from.Format(time.DateOnly)}, "to": {to.Format(time.DateOnly)}, "compare": {with}}.Encode())
			first, err := time.Parse(time.DateOnly, got[0])
			servertest.Must(t, err)
			last, err := time.Parse(time.DateOnly, got[1])
			servertest.Must(t, err)
			if first.Weekday() != from.Weekday() || last.Sub(first) != to.Sub(from) || !last.Before(from) {
				t.Errorf("%s to %s is compared with %v", from, to, got)
			}
		}
	})
}
