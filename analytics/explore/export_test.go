package explore

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
)

// readBack reads an export and returns the values of each row by name, as text.
func (w *shop) readBack(in ExportIn) (rows []map[string]string, size int) {
	w.Helper()
	var out bytes.Buffer
	w.must(w.x.Export(w.ctx, in, &out))
	size = out.Len()
	if in.Format == CSV {
		all, err := csv.NewReader(&out).ReadAll()
		w.must(err)
		for _, row := range all[1:] {
			r := map[string]string{}
			for i, name := range all[0] {
				r[name] = row[i]
			}
			rows = append(rows, r)
		}
		return rows, size
	}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var values map[string]any
		w.must(json.Unmarshal(lines.Bytes(), &values))
		r := map[string]string{}
		for name, v := range values {
			r[name] = fmt.Sprint(v)
		}
		rows = append(rows, r)
	}
	return rows, size
}

// Exports contain what the oracle selects, each row once and in order, and no CSV cell with a
// visitor's data starts a formula.
func TestExportsAgreeWithTheOracle(t *testing.T) {
	inTwoZones(t, 200, func(w *shop, random *rand.Rand, from, to string) {
		all := w.oracle(from, to)
		for try := range 4 {
			var filters []Filter
			if try > 0 {
				filters = drawFilters(random)
			}
			var ids, starts []string
			for _, v := range all.filtered(filters).visits {
				for _, e := range v.events {
					ids = append(ids, e.EventID)
				}
				starts = append(starts, moment(at(v.events[0]).UnixMilli()))
			}
			slices.Sort(ids)
			slices.Sort(starts)
			for _, format := range []Format{CSV, JSONL} {
				in := ExportIn{Range: w.between(from, to), Filters: filters, Kind: Events, Format: format}
				events, _ := w.readBack(in)
				var got []string
				for _, r := range events {
					if r["name"] != analytics.EngagementEvent {
						got = append(got, r["id"])
					}
					for name, value := range r {
						if format == CSV && strings.ContainsAny(value[:min(1, len(value))], "=+-@\t\r") && name != "revenue" {
							w.Errorf("%s is %q", name, value)
						}
					}
				}
				if !slices.Equal(got, ids) {
					w.Fatalf("%v as %s: %d events, want %d", filters, format, len(got), len(ids))
				}
				in.Kind, got = Sessions, nil
				sessions, _ := w.readBack(in)
				for _, r := range sessions {
					got = append(got, r["start"])
				}
				if !slices.Equal(got, starts) {
					w.Fatalf("%v as %s: %d sessions, want %d", filters, format, len(got), len(starts))
				}
				in.Kind = Stats
				days, _ := w.readBack(in)
				visits := 0
				for _, r := range days {
					var n int
					fmt.Sscan(r["visits"], &n)
					visits += n
				}
				if visits != len(starts) {
					w.Fatalf("%v as %s: %d visits in statistics, want %d", filters, format, visits, len(starts))
				}
			}
		}
	})
}

func TestExportsOfManyMegabytes(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	const n = 6_000
	long := strings.Repeat("long ", 60)
	var hits []analytics.Hit
	for i := range n {
		hits = append(hits, analytics.Hit{
			At: utc("2026-05-09T01:00").Add(time.Duration(i) * 10 * time.Second), Imported: true, Address: fmt.Sprint(i % 50), Path: fmt.Sprintf("/p/%d", i),
			Properties: map[string]string{"text": long + fmt.Sprint(i)},
		})
	}
	for ; len(hits) > 0; hits = hits[1000:] {
		_, err := w.collector.Ingest(w.ctx, "shop", hits[:1000])
		w.must(err)
	}
	rows, size := w.readBack(ExportIn{Range: w.between("2026-05-09", "2026-05-10"), Kind: Events, Format: JSONL, Filters: []Filter{{Dimension: analytics.ByPage, Op: Contains, Values: []string{"/P/"}}}})
	if len(rows) != n || size < 4<<20 || !strings.Contains(rows[n-1]["properties"], long+"5999") {
		t.Errorf("%d rows of %d bytes", len(rows), size)
	}
}

func TestCSVCellsAreNotFormulas(t *testing.T) {
	var out bytes.Buffer
	s, err := NewSheet(&out, CSV, []string{"a", "b", "c", "d", "e", "f", "g", "h"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Row("=1+1", "+1", "-1", "@x", "\tx", "\rx", int64(-1), amount("-2.5")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || fmt.Sprintf("%q", rows[1]) != `["'=1+1" "'+1" "'-1" "'@x" "'\tx" "'\rx" "-1" "-2.5"]` {
		t.Errorf("%q, %v", rows, err)
	}
}

// failing is a writer that fails after a few bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

var errFull = errors.New("full")

func TestExportsThatFail(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-10T00:00"), utc("2026-05-10T11:00"), 200)...)
	in := ExportIn{Range: w.between("2026-05-10", "2026-05-10"), Kind: Events, Format: CSV}
	for _, format := range []Format{CSV, JSONL} {
		in.Format = format
		if err := w.x.Export(w.ctx, in, &failing{5_000}); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v", format, err)
		}
	}
	for name, change := range map[string]func(*ExportIn){
		"kind":   func(in *ExportIn) { in.Kind = "everything" },
		"format": func(in *ExportIn) { in.Format = "xlsx" },
		"range":  func(in *ExportIn) { in.To = "2026-05-09" },
		"filter": func(in *ExportIn) { in.Filters = []Filter{{Dimension: "colour", Op: Is, Values: []string{"red"}}} },
	} {
		bad := in
		change(&bad)
		if err := w.x.Export(w.ctx, bad, &bytes.Buffer{}); !errors.Is(err, ErrQuestion) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// The export contains what a page measured. No other answer does.
func TestExportsHoldMeasurements(t *testing.T) {
	e := analytics.Event{Name: analytics.VitalsEvent, Vitals: analytics.Vitals{LCP: 1200, INP: 48, CLS: new(0.031)}}
	e.EventID = "01J8Z6V0Q4W3N7M2K5T9R1X8BC"
	row := eventRow(&e)
	for name, want := range map[string]float64{"lcp": 1200, "inp": 48, "cls": 0.031} {
		if got := row[slices.Index(eventColumns, name)]; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if len(row) != len(eventColumns) {
		t.Errorf("%d values for %d columns", len(row), len(eventColumns))
	}
}
