package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/internal/calendar"
)

// Cohorts of what users did agree with a list of users and days.
func TestRetentionOfActionsAgreesWithTheOracle(t *testing.T) {
	inTwoZones(t, 500, func(w *shop, random *rand.Rand, from, to string) {
		some := 0
		for n := 0; n < 10 || some == 0 && n < 100; n++ {
			in := RetentionIn{Range: w.between(from, to), By: "day"}
			visits := w.oracle(from, to)
			if random.IntN(2) == 0 {
				in.Filters = drawFilters(random)[:1]
				visits = visits.filtered(in.Filters)
			}
			if d := drawDeed(random); n%3 != 0 {
				in.Began = &d.what
			}
			if d := drawDeed(random); n%3 != 1 {
				in.Again = &d.what
			}
			got, err := w.x.Retention(w.ctx, in)
			w.must(err)
			want := visits.cohorts(&in)
			if text := cohortsText(got.Cohorts); text != want {
				w.Fatalf("began %v, again %v, filters %v:\n%swant\n%s", in.Began, in.Again, in.Filters, text, want)
			}
			some += len(got.Cohorts)
		}
		if some == 0 {
			w.Error("there was no cohort")
		}
	})
}

func cohortsText(all []Cohort) string {
	var text strings.Builder
	for _, c := range all {
		fmt.Fprintln(&text, c.Start, c.Users, c.Returned)
	}
	return text.String()
}

// cohorts counts user by user and day by day.
func (o *oracle) cohorts(in *RetentionIn) string {
	did := func(user, day string, what *Filter) bool {
		return slices.ContainsFunc(o.visits, func(v oracleVisit) bool {
			return v.user() == user && v.day == day && (what == nil || v.times(*what) > 0)
		})
	}
	users := map[string]bool{}
	for i := range o.visits {
		users[o.visits[i].user()] = true
	}
	delete(users, "")
	days := calendar.Days(in.From, in.To)
	var text strings.Builder
	for i, start := range days {
		size, returned := 0, make([]int, len(days)-i)
		for user := range users {
			first := slices.IndexFunc(days, func(day string) bool { return did(user, day, in.Began) })
			if first != i {
				continue
			}
			size++
			for n, day := range days[i:] {
				if did(user, day, in.Again) {
					returned[n]++
				}
			}
		}
		if size > 0 {
			fmt.Fprintln(&text, start, size, returned)
		}
	}
	return text.String()
}

func TestInvalidActions(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	for _, text := range []string{"event:is_not:a", "user.did:event:is:a", "segment:is:a", "event:is:(none)"} {
		f, err := ParseFilter(text)
		w.must(err)
		if _, err := w.x.Retention(w.ctx, RetentionIn{Range: w.between("2026-05-01", "2026-05-10"), Began: &f}); !errors.Is(err, ErrQuestion) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
