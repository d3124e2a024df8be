package annotations

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

var noon = time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)

// newTable returns a table with a site in Auckland, where days begin at noon of UTC.
func newTable(t *testing.T) *table.Table {
	t.Helper()
	tbl := foldtest.NewWorld(t, foldtest.Setup{Schema: table.MustSchema("test", analytics.Schema, Schema), At: noon}).Table
	if _, err := analytics.CreateSite(t.Context(), tbl, analytics.NewSite{ID: "site", TimeZone: "Pacific/Auckland"}); err != nil {
		t.Fatal(err)
	}
	return tbl
}

func add(t *testing.T, tbl *table.Table, at time.Time, text string) Annotation {
	t.Helper()
	a, _, err := Add(t.Context(), tbl, Annotation{Key: Key{SiteID: "site"}, At: at, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func texts(t *testing.T, tbl *table.Table, from, to string) string {
	t.Helper()
	all, err := List(t.Context(), tbl, "site", from, to)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, a := range all {
		list = append(list, a.Text)
	}
	return strings.Join(list, ", ")
}

// Annotations are listed by the days of the site, in order of time, whatever the order of arrival.
func TestList(t *testing.T) {
	tbl := newTable(t)
	last := time.Date(2026, 5, 12, 11, 59, 59, 999e6, time.UTC) // of 12 May in Auckland
	add(t, tbl, last.Add(time.Millisecond), "first of the 13th")
	add(t, tbl, last, "last of the 12th")
	add(t, tbl, last.Add(-time.Hour), "earlier")
	for days, want := range map[[2]string]string{
		{"2026-05-12", "2026-05-12"}: "earlier, last of the 12th",
		{"2026-05-13", "2026-05-14"}: "first of the 13th",
		{"2026-05-01", "2026-05-31"}: "earlier, last of the 12th, first of the 13th",
		{"2026-05-14", "2026-05-14"}: "",
	} {
		if got := texts(t, tbl, days[0], days[1]); got != want {
			t.Errorf("%v: %q, want %q", days, got, want)
		}
	}
}

// A repeated call adds nothing, and the first author stays.
func TestRepeated(t *testing.T) {
	tbl := newTable(t)
	first, isNew, err := Add(t.Context(), tbl, Annotation{Key: Key{SiteID: "site"}, At: noon, Text: "v2", URL: "https://example.com/2", Author: "user:1"})
	if err != nil || !isNew {
		t.Fatal(isNew, err)
	}
	again, isNewAgain, err := Add(t.Context(), tbl, Annotation{Key: Key{SiteID: "site"}, At: noon, Text: "v2", URL: "https://example.com/2", Author: "key:2"})
	if err != nil || again != first || isNewAgain {
		t.Errorf("%+v, new %v, %v; was %+v", again, isNewAgain, err, first)
	}
	add(t, tbl, noon, "another text at the same time")
	if got := texts(t, tbl, "2026-05-13", "2026-05-13"); strings.Count(got, ",") != 1 {
		t.Errorf("listed %q", got)
	}
	if gone, err := Delete(t.Context(), tbl, first.Key); err != nil || gone != first {
		t.Errorf("deleted %+v, %v", gone, err)
	}
	if _, err := Delete(t.Context(), tbl, first.Key); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestRefused(t *testing.T) {
	tbl := newTable(t)
	for name, a := range map[string]Annotation{
		"no text":       {At: noon},
		"only space":    {At: noon, Text: " "},
		"long":          {At: noon, Text: strings.Repeat("ü", MaxText+1)},
		"two lines":     {At: noon, Text: "a\nb"},
		"no UTF-8":      {At: noon, Text: "\xff"},
		"far ahead":     {At: noon.Add(367 * 24 * time.Hour), Text: "a"},
		"before 1970":   {At: time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC), Text: "a"},
		"year 12000":    {At: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), Text: "a"},
		"script as URL": {At: noon, Text: "a", URL: "javascript:alert(1)"},
		"path as URL":   {At: noon, Text: "a", URL: "/releases"},
	} {
		a.SiteID = "site"
		if _, _, err := Add(t.Context(), tbl, a); !errors.Is(err, ErrAnnotation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := Add(t.Context(), tbl, Annotation{Key: Key{SiteID: "other"}, At: noon, Text: "a"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("unknown site: %v", err)
	}
	for _, days := range [][2]string{{"2026-05-13", "2026-05-12"}, {"x", "2026-05-12"}, {"2026-05-12", ""}, {"0001-01-01", "2026-05-12"}} {
		if _, err := List(t.Context(), tbl, "site", days[0], days[1]); !errors.Is(err, ErrAnnotation) {
			t.Errorf("%v: %v", days, err)
		}
	}
	for i := range MaxPerDay {
		add(t, tbl, noon.Add(time.Duration(i)*time.Minute), fmt.Sprint("release ", i))
	}
	if _, _, err := Add(t.Context(), tbl, Annotation{Key: Key{SiteID: "site"}, At: noon, Text: "one more"}); !errors.Is(err, ErrAnnotation) {
		t.Errorf("a day with %d more: %v", MaxPerDay, err)
	}
	add(t, tbl, noon.Add(24*time.Hour), "the next day")
}
