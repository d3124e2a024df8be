package accesslog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
)

// TestParse runs testdata/parse: "parse" takes lines as they are, "quoted" takes them as Go string
// literals.
func TestParse(t *testing.T) {
	p := NewParser(Combined)
	datadriven.RunTest(t, "testdata/parse", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input + "\n") {
			line = strings.TrimSuffix(line, "\n")
			if d.Cmd == "quoted" {
				text, err := strconv.Unquote(line)
				if err != nil {
					d.Fatalf(t, "%s: %v", line, err)
				}
				line = text
			}
			e, err := p.Parse([]byte(line))
			alone, aloneErr := parseLine([]byte(line))
			if e != alone || fmt.Sprint(err) != fmt.Sprint(aloneErr) {
				d.Fatalf(t, "a parser that remembers says %+v, %v; one that does not says %+v, %v", e, err, alone, aloneErr)
			}
			if err != nil {
				if !errors.Is(err, ErrMalformed) || e != (Entry{}) {
					d.Fatalf(t, "%v with %+v: want ErrMalformed and nothing else", err, e)
				}
				fmt.Fprintln(&out, err)
				continue
			}
			fmt.Fprintf(&out, "%s %s %q %q %q %d %d %q %q\n", e.Addr, e.Time.Format(time.RFC3339),
				e.Method, e.Target, e.Protocol, e.Status, e.Bytes, e.Referrer, e.UserAgent)
		}
		return out.String()
	})
}

// TestTimeAgrees compares the time parser with the standard library's, on every day of 60 years and
// on near-valid input.
func TestTimeAgrees(t *testing.T) {
	const layout = "02/Jan/2006:15:04:05 -0700"
	check := func(text string) {
		t.Helper()
		want, err := time.Parse(layout, text)
		got, ok := parseTime([]byte(text))
		if ok != (err == nil) || ok && got != want.Unix() {
			t.Fatalf("%s: got %d, %v; time.Parse says %d, %v", text, got, ok, want.Unix(), err)
		}
	}
	zones := []string{"+0000", "-0700", "+0530", "+1245", "-0330"}
	at := time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := 0; at.Year() < 2050; i++ {
		check(at.Format("02/Jan/2006:15:04:05 ") + zones[i%len(zones)])
		at = at.AddDate(0, 0, 1).Add(61 * time.Second)
	}
	for _, text := range []string{
		"29/Feb/2023:00:00:00 +0000", "29/Feb/2024:00:00:00 +0000", "29/Feb/2100:00:00:00 +0000", "29/Feb/2000:00:00:00 +0000",
		"31/Apr/2024:00:00:00 +0000", "00/Jan/2024:00:00:00 +0000", "32/Jan/2024:00:00:00 +0000", "31/Dec/2024:23:59:59 -1200",
		"01/jan/2024x00:00:00 +0000", "01/Foo/2024:00:00:00 +0000", "01/Jan/2024:24:00:00 +0000", "01/Jan/2024:00:60:00 +0000",
		"01/Jan/20 4:00:00:00 +0000", "1/Jan/2024:00:00:00 +00000", "01/Jan/2024:00:00:00 00000", "01-Jan-2024:00:00:00 +0000",
	} {
		check(text)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		combined,
		`::1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326`,
		`1.2.3.4 - - [17/May/2015:10:05:03 +0000] "\x16\x03\"\\" 400 - "-" "a \"b\" c" 0.003 "5.6.7.8"`,
		`1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "cut`,
		`1.2.3.4 [ [ [17/May/2015:10:05:03 +0000] "-" - -`,
	} {
		f.Add([]byte(seed))
	}
	p := NewParser(Combined)
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := p.Parse(line)
		if err != nil {
			if !errors.Is(err, ErrMalformed) || e != (Entry{}) {
				t.Fatalf("%q: %v with %+v", line, err, e)
			}
			return
		}
		again, err := parseLine(line)
		if err != nil || again != e {
			t.Fatalf("%q: %+v, then %+v, %v", line, e, again, err)
		}
		for _, s := range []string{e.Addr, e.Method, e.Target, e.Protocol, e.Referrer, e.UserAgent} {
			if !utf8.ValidString(s) {
				t.Fatalf("%q: %q is not UTF-8", line, s)
			}
		}
		if e.Status < 0 || e.Status > 999 || e.Bytes < 0 || e.Time.Unix() < 0 || e.Addr == "" {
			t.Fatalf("%q: %+v", line, e)
		}
		if (e.Method == "") != (e.Target == "") {
			t.Fatalf("%q: half a request: %+v", line, e)
		}
		path, query := SplitTarget(e.Target)
		if len(path) > MaxPath || len(query) > MaxQuery || !utf8.ValidString(path) || !utf8.ValidString(query) {
			t.Fatalf("%q: path %q, query %q", line, path, query)
		}
		IsAsset(path)
	})
}

const combined = `83.149.9.216 - - [17/May/2015:10:05:03 +0000] ` +
	`"GET /presentations/logstash-monitorama-2013/images/kibana-search.png HTTP/1.1" 200 203023 ` +
	`"http://semicomplete.com/presentations/logstash-monitorama-2013/" ` +
	`"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.77 Safari/537.36"`

func TestRepeatedLinesDoNotAllocate(t *testing.T) {
	p, line := NewParser(Combined), []byte(combined)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := p.Parse(line); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%g allocations for a line seen before, want none", n)
	}
}

// parseLine parses a line with a parser that remembers nothing.
func parseLine(line []byte) (Entry, error) {
	var p Parser
	return p.Parse(line)
}
