package terminal_test

import (
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
