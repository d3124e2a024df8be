package accesslog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/onefold/onefold/internal/recorded"
)

// counts are the counts of testdata/oracle.py.
type counts struct {
	Lines, Malformed, Addresses, UserAgents int
	Status, Methods                         map[string]int
	PageViews                               int
	Days, Hours                             map[string]int
	Paths                                   int
	TopPages                                []pageCount
}

type pageCount struct {
	Path      string
	PageViews int
}

// TestRealLog counts a recorded log and compares the counts with those of a program in another
// language.
func TestRealLog(t *testing.T) {
	var want counts
	golden, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(golden, &want); err != nil {
		t.Fatal(err)
	}
	got := count(t, recorded.Path(t, recorded.AccessLog))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func count(t *testing.T, path string) counts {
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := counts{Status: map[string]int{}, Methods: map[string]int{}, Days: map[string]int{}, Hours: map[string]int{}}
	addresses, agents, pages := map[string]int{}, map[string]int{}, map[string]int{}
	p := NewParser(Combined)
	for line, err := range Lines(f) {
		if err != nil {
			t.Fatal(err)
		}
		c.Lines++
		e, err := p.Parse(line.Text)
		if errors.Is(err, ErrMalformed) {
			c.Malformed++
			continue
		}
		addresses[e.Addr]++
		agents[e.UserAgent]++
		c.Status[strconv.Itoa(e.Status)]++
		c.Methods[e.Method]++
		if e.Method != "GET" || e.Status != 200 && e.Status != 304 {
			continue
		}
		c.PageViews++
		c.Days[e.Time.Format("2006-01-02")]++
		c.Hours[e.Time.Format("2006-01-02T15:00:00Z")]++
		path, _ := SplitTarget(e.Target)
		pages[path]++
	}
	c.Addresses, c.UserAgents, c.Paths = len(addresses), len(agents), len(pages)
	c.TopPages = top(pages, 20)
	return c
}

func top(pages map[string]int, n int) []pageCount {
	var all []pageCount
	for path, views := range pages {
		all = append(all, pageCount{path, views})
	}
	slices.SortFunc(all, func(a, b pageCount) int {
		return cmp.Or(cmp.Compare(b.PageViews, a.PageViews), cmp.Compare(a.Path, b.Path))
	})
	return all[:min(n, len(all))]
}

// TestOracle checks that the expected numbers are still those of the oracle.
func TestOracle(t *testing.T) {
	path := recorded.Path(t, recorded.AccessLog)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing: install it to count the log anew; testdata/oracle.json is taken as it is")
	}
	got, err := exec.Command(python, "testdata/oracle.py", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("testdata/oracle.json is not what testdata/oracle.py says; run: testdata/oracle.py access.log.gz > testdata/oracle.json")
	}
}

// BenchmarkParseRealLog measures a line of a recorded log, with a new parser every 10,000 lines.
func BenchmarkParseRealLog(b *testing.B) {
	f, err := Open(recorded.Path(b, recorded.AccessLog), nil)
	if err != nil {
		b.Fatal(err)
	}
	var lines [][]byte
	for line, err := range Lines(f) {
		if err != nil {
			b.Fatal(err)
		}
		lines = append(lines, bytes.Clone(line.Text))
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var p *Parser
	for i := 0; b.Loop(); i++ {
		if i%len(lines) == 0 {
			p = NewParser(Combined)
		}
		if _, err := p.Parse(lines[i%len(lines)]); err != nil && !errors.Is(err, ErrMalformed) {
			b.Fatal(err)
		}
	}
}
