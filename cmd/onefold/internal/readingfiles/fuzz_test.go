package readingfiles

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/onefold/onefold/internal/accesslog"
)

// readAll returns the readings of a text, one per line.
func readAll(t *testing.T, text []byte, o Options) (all []string) {
	t.Helper()
	file, err := accesslog.Open("-", bytes.NewReader(text))
	if err != nil {
		return nil // it looks like compressed data
	}
	defer file.Close()
	format, rows, err := Read(file, o)
	if err != nil {
		if format != "" && !errors.Is(err, ErrHeader) {
			t.Fatalf("%s: %v", format, err)
		}
		return nil
	}
	last := int64(0)
	for row, err := range rows {
		if row.Number <= last {
			t.Fatalf("%s: the row of line %d after that of line %d", format, row.Number, last)
		}
		last = row.Number
		if err != nil {
			break
		}
		if row.Err == nil && (row.Nth < 0 || !row.Imported || format != JSON && row.At.IsZero()) {
			t.Fatalf("%s: %+v", format, row)
		}
		var of []string
		for _, name := range row.Values.Names() {
			of = append(of, name+"="+row.Values[name].String())
		}
		all = append(all, fmt.Sprint(row.Number, row.DeviceID, row.At, row.Nth, of, row.Units, row.Err))
	}
	return all
}

// FuzzRead reads arbitrary data in each format. Nothing panics, rows are in order of their lines,
// valid ones have a time, and reading a file again has the same result.
func FuzzRead(f *testing.F) {
	f.Add([]byte("time,device,temp,door\n2026-05-12 14:00:00,d1,71.25,open\n1778594400250,d2,\"1,5\",TRUE\n\n,,,\n"))
	f.Add([]byte("\xef\xbb\xbfDate;seq;a b\r\n2026-05-12;7;NaN\r\n2026-05-12;x;1e400\r\n\"2026-05-12\n\";8;\"\"\"\"\r\n"))
	f.Add([]byte("at\ttemp\ttemp\n0.5\t1\t2\n9223372036854775807\t1\t2\n-1\t1\t2\n0x1p9\t1\t2\ninf\t\t\n"))
	f.Add([]byte("time,\"temp\n2026-05-12,1\n"))
	f.Add([]byte(`{"device":"d","at":1778594400250,"values":{"t":1}}` + "\n[]\n[{},{}]\nnull\n"))
	f.Add([]byte("# points\nboiler,device=b1 t=71.25 1778594400000000000\nboiler t=1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range Formats() {
			o := Options{Format: Format(format), Device: "mine"}
			if once, again := readAll(t, text, o), readAll(t, text, o); fmt.Sprint(once) != fmt.Sprint(again) {
				t.Fatalf("%s: read once %q, read again %q", format, once, again)
			}
		}
	})
}
