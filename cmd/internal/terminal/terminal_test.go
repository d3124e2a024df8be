package terminal_test

import (
	"io"
	"os"
	"path/filepath"
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
