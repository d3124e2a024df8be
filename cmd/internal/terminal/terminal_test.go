package terminal_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onefold/onefold/cmd/internal/terminal"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int
		what string
		want string
	}{
		{0, "worker", "0 workers"}, {1, "worker", "1 worker"}, {2, "day", "2 days"}, {1200, "page view", "1,200 page views"},
		{1, "index entry", "1 index entry"}, {3, "index entry", "3 index entries"}, {2, "index", "2 indexes"}, {2, "batch", "2 batches"},
	} {
		if got := terminal.Count(c.n, c.what); got != c.want {
			t.Errorf("Count(%d, %q) = %q; want %q", c.n, c.what, got, c.want)
		}
	}
}

func TestOnlyTerminalsAreScreens(t *testing.T) {
	for _, open := range []func() (*os.File, error){
		func() (*os.File, error) { return os.OpenFile(os.DevNull, os.O_WRONLY, 0) },
		func() (*os.File, error) { return os.Create(filepath.Join(t.TempDir(), "out")) },
	} {
		f, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if terminal.IsScreen(f) || terminal.Width(f) != 0 {
			t.Errorf("%s is a terminal with %d columns", f.Name(), terminal.Width(f))
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if terminal.IsScreen(io.Discard) || terminal.Width(io.Discard) != 0 {
		t.Error("io.Discard is a terminal")
	}
}

func TestList(t *testing.T) {
	type thing struct {
		Name string `json:"name"`
		N    int    `json:"n"`
	}
	list := terminal.List[thing]{Empty: "No things yet.", Columns: "NAME\tN", Row: func(x *thing) []any { return []any{x.Name, x.N} }}
	asJSON := list
	asJSON.JSON = true
	headed := list
	headed.Empty = ""
	for _, c := range []struct {
		what   string
		list   terminal.List[thing]
		things []thing
		want   string
	}{
		{"no elements", list, nil, "No things yet.\n"},
		{"no elements, with the names of columns", headed, nil, "NAME  N\n"},
		{"no elements as JSON", asJSON, nil, "[]\n"},
		{"elements", list, []thing{{"a", 1}, {"long name", 20}}, "NAME       N\na          1\nlong name  20\n"},
		{"control characters", list, []thing{{"a\tb\x1b[2J\nc", 1}}, "NAME       N\na·b·[2J·c  1\n"},
		{"elements as JSON", asJSON, []thing{{"a", 1}}, "[\n  {\n    \"name\": \"a\",\n    \"n\": 1\n  }\n]\n"},
	} {
		var out strings.Builder
		if err := c.list.Print(&out, c.things); err != nil || out.String() != c.want {
			t.Errorf("%s: %q, %v, want %q", c.what, out.String(), err, c.want)
		}
	}
	if err := list.Print(full{}, []thing{{"a", 1}}); err == nil {
		t.Error("no error although nothing could be written")
	}
}

// full is a disk that has no space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }
