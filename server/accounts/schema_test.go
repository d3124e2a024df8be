package accounts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
)

// TestKeysStayApart checks that all keys have the prefix of accounts, on the index too.
func TestKeysStayApart(t *testing.T) {
	for _, e := range accounts.Schema.Entities() {
		keys := []string{e.PK}
		for _, x := range e.Indexes {
			keys = append(keys, x.PK)
		}
		for _, key := range keys {
			if !strings.HasPrefix(key, "ACCOUNT#") {
				t.Errorf("%s: partition %q", e.Name, key)
			}
		}
	}
}

// TestPatternsAreBounded checks the requests of every pattern: one key or one partition, with an
// expected cost.
func TestPatternsAreBounded(t *testing.T) {
	for i, p := range accounts.Schema.Patterns() {
		if want := fmt.Sprintf("A%d", i+1); p.ID != want {
			t.Errorf("pattern %s, want %s", p.ID, want)
		}
		if p.Operation != "GetItem" && p.Operation != "Query" {
			t.Errorf("%s: %s", p.ID, p.Operation)
		}
		if p.Load.PerSecond <= 0 || p.Load.Items <= 0 || p.Load.ItemBytes <= 0 || p.Question == "" {
			t.Errorf("%s: no load or no question: %+v", p.ID, p)
		}
	}
}
