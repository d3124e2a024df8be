package analytics

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/fold/foldtest"
)

// saltItems returns the sort keys of the salts in the table, expired or not.
func (w *world) saltItems() (found []string) {
	w.Helper()
	out, err := w.DB.Scan(w.Ctx, &dynamodb.ScanInput{TableName: new(foldtest.TableName)})
	w.Must(err)
	for _, item := range out.Items {
		if sk, ok := item["sk"].(*types.AttributeValueMemberS); ok && strings.HasPrefix(sk.Value, "SALT#") {
			found = append(found, sk.Value)
		}
	}
	return found
}

// TestSaltsAreDeleted reads the table itself: two days after a site's day, its salt is deleted.
func TestSaltsAreDeleted(t *testing.T) {
	w := newWorld(t, noon)
	w.site("site", "Europe/Berlin")
	w.ingest("site", Hit{Path: "/", Address: "192.0.2.1"})
	midnight := time.Date(2026, 5, 12, 22, 0, 0, 0, time.UTC) // midnight in Berlin
	for _, c := range []struct {
		at   time.Time
		want int
	}{{noon, 1}, {midnight.Add(47 * time.Hour), 1}, {midnight.Add(48*time.Hour + time.Second), 0}} {
		w.Set(c.at)
		if _, err := w.DB.ExpireNow(w.Ctx); err != nil {
			t.Fatal(err)
		}
		if got := w.saltItems(); len(got) != c.want {
			t.Errorf("at %s: salts %v, want %d", c.at, got, c.want)
		}
	}
}
