package eventcsv

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/internal/accesslog"
)

// TestExports runs testdata/exports: the command is an export, its input a file; "quoted" lines are
// Go string literals.
func TestExports(t *testing.T) {
	datadriven.RunTest(t, "testdata/exports", func(t *testing.T, d *datadriven.TestData) string {
		input := d.Input
		if d.HasArg("quoted") {
			text, err := strconv.Unquote(`"` + input + `"`)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			input = text
		}
		if d.Cmd == "detect" {
			return fmt.Sprintf("%q\n", Detect([]byte(input)))
		}
		p := NewParser(Export(d.Cmd))
		var out strings.Builder
		for row, err := range Rows(accesslog.Lines(strings.NewReader(input))) {
			var e Event
			if err == nil {
				e, err = p.Parse(row.Text)
			}
			fmt.Fprintf(&out, "%d: %s\n", row.Number, describe(&e, err))
		}
		return out.String()
	})
}

// describe lists the fields that are set.
func describe(e *Event, err error) string {
	if err != nil {
		return err.Error()
	}
	var parts []string
	for i, v := 0, reflect.ValueOf(*e); i < v.NumField(); i++ {
		if !v.Field(i).IsZero() {
			parts = append(parts, fmt.Sprintf("%s %v", v.Type().Field(i).Name, v.Field(i)))
		}
	}
	return strings.Join(parts, ", ")
}

const header = "session_id,url_path,event_type,created_at\n"

// A row that never ends is bounded, and the following rows are read.
func TestQuotesThatAreNotClosed(t *testing.T) {
	row := "s,/a,1,2026-05-12 08:00:00\n"
	text := header + row + "s,\"/a,1,2026-05-12 08:00:00\n" + strings.Repeat(row, MaxRow/len(row)+100)
	p := NewParser(Umami)
	views, broken := 0, 0
	for row, err := range Rows(accesslog.Lines(strings.NewReader(text))) {
		var e Event
		if err == nil {
			e, err = p.Parse(row.Text)
		}
		switch {
		case errors.Is(err, ErrMalformed):
			broken++
		case err != nil:
			t.Fatal(err)
		case e.Kind == PageView:
			views++
		}
	}
	if broken != 1 || views < 90 || views > 110 {
		t.Errorf("%d page views, %d broken rows; want about 100 of behind the broken one", views, broken)
	}
}

// FuzzExports reads any input as each export: nothing panics, results are UTF-8 and have a time,
// and rows cover all lines in order.
func FuzzExports(f *testing.F) {
	f.Add([]byte(header + "s,\"/a\n\"\"b\",1,2026-05-12 08:00:00\n"))
	f.Add([]byte("2Path,Event,Session,Bot,Date\n/,false,s,0,2026-05-12T08:00:00Z\n"))
	f.Add([]byte("\xef\xbb\xbf1Path,Event,Session,Bot,Date,Browser\r\n\"a\",true,s,0,2026-05-12T08:00:00+02:00,x\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, export := range Exports {
			p := NewParser(export)
			last := int64(0)
			for row, err := range Rows(accesslog.Lines(bytes.NewReader(text))) {
				if row.Number <= last {
					t.Fatalf("row of line %d after that of line %d", row.Number, last)
				}
				last = row.Number
				if err != nil {
					if !errors.Is(err, ErrMalformed) {
						t.Fatal(err)
					}
					continue
				}
				e, err := p.Parse(row.Text)
				if err != nil {
					if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrNoExport) && !errors.Is(err, ErrVersion) {
						t.Fatal(err)
					}
					continue
				}
				check(t, &e)
			}
		}
	})
}

func check(t *testing.T, e *Event) {
	t.Helper()
	if e.Kind == Nothing {
		return
	}
	if e.Visitor == "" || e.At.Before(time.Unix(0, 0)) || e.At.Year() > 9999 || (e.Kind == Custom) != (e.Name != "") {
		t.Fatalf("%+v", *e)
	}
	for v, i := reflect.ValueOf(*e), 0; i < v.NumField(); i++ {
		if s, ok := v.Field(i).Interface().(string); ok && !utf8.ValidString(s) {
			t.Fatalf("%q is not UTF-8", s)
		}
	}
}
