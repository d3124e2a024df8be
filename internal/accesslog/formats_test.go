package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
)

// TestFormats runs testdata/formats: the command is a format, its input a log, "<TAB>" a tab;
// detect prints the format.
func TestFormats(t *testing.T) {
	datadriven.RunTest(t, "testdata/formats", func(t *testing.T, d *datadriven.TestData) string {
		log := strings.ReplaceAll(d.Input, "<TAB>", "\t")
		if d.Cmd == "detect" {
			return fmt.Sprintf("%q\n", Detect([]byte(log)))
		}
		p := NewParser(Format(d.Cmd))
		var out strings.Builder
		for line := range strings.Lines(log) {
			e, err := p.Parse([]byte(line))
			switch {
			case err != nil && (!errors.Is(err, ErrMalformed) || e != (Entry{})):
				d.Fatalf(t, "%v with %+v: want ErrMalformed and nothing else", err, e)
			case err != nil:
				fmt.Fprintln(&out, err)
			case e == Entry{}:
				fmt.Fprintln(&out, "no request")
			default:
				fmt.Fprintf(&out, "%s %s %q %q %q %d %d %q %q host %q country %q\n", e.Addr, e.Time.Format(time.RFC3339Nano),
					e.Method, e.Target, e.Protocol, e.Status, e.Bytes, e.Referrer, e.UserAgent, e.Host, e.Country)
			}
		}
		return out.String()
	})
}

// FuzzFormats parses any log in each format: no line makes it panic, allocate without bound or
// return invalid UTF-8.
func FuzzFormats(f *testing.F) {
	f.Add([]byte("#Fields: date time c-ip cs-method cs-uri-stem sc-status\n2024-05-12\t10:00:00\t192.0.2.1\tGET\t/a%2520b\t200\n"))
	f.Add([]byte(`{"ts":1646861401.52,"request":{"remote_ip":"192.0.2.1","method":"GET","uri":"/","headers":{"User-Agent":["x"]}},"status":200}`))
	f.Add([]byte(`{"date":"2024-05-12","time":"10:00:00","c-ip":"192.0.2.1","cs-method":"GET","cs-uri-stem":"/","sc-status":"200"}`))
	f.Add([]byte(`example.org:443 192.0.2.1 - - [12/May/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 512`))
	f.Fuzz(func(t *testing.T, log []byte) {
		if detected := Detect(log); detected != "" && NewParser(detected) == nil {
			t.Errorf("no parser of %q", detected)
		}
		for _, format := range Formats {
			p := NewParser(format)
			for line := range bytes.Lines(log) {
				e, err := p.Parse(line)
				if err != nil {
					if !errors.Is(err, ErrMalformed) || e != (Entry{}) {
						t.Fatalf("%s: %v with %+v", format, err, e)
					}
					continue
				}
				for _, s := range []string{e.Addr, e.Method, e.Target, e.Protocol, e.Referrer, e.UserAgent, e.Host, e.Country} {
					if !utf8.ValidString(s) {
						t.Fatalf("%s: %q is not UTF-8", format, s)
					}
				}
				if at := e.Time; !at.IsZero() && (at.Unix() < 0 || at.Year() > 9999) {
					t.Fatalf("%s: %s", format, at)
				}
			}
		}
	})
}
