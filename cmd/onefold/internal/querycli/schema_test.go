package querycli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/onefold/onefold/warehouse/duck"
)

// Every build prints the schema; only builds with DuckDB query it.
func TestSchema(t *testing.T) {
	for _, json := range []bool{false, true} {
		var out bytes.Buffer
		if err := (&Query{Schema: true}).Run(t.Context(), &Env{Out: &out, JSON: json}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"events", "session_events", "sessions", "conversions", "readings", "domain_events", "visitor_day", "TIMESTAMP WITH TIME ZONE", "local_time"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s is not told of in\n%s", want, out.String())
			}
		}
	}
	if duck.Built {
		return
	}
	if err := (&Query{SQL: "SELECT 1"}).Run(t.Context(), &Env{}); !errors.Is(err, duck.ErrNoDuckDB) {
		t.Errorf("without DuckDB: %v", err)
	}
}
