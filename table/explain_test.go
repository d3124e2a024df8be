package table_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/table"
)

// TestExplain compares the requests of query patterns as they are sent.
func TestExplain(t *testing.T) {
	datadriven.RunTest(t, "testdata/explain", func(t *testing.T, d *datadriven.TestData) string {
		arg := func(name string) (value string) {
			d.MaybeScanArgs(t, name, &value)
			return value
		}
		var shards, shard int
		d.MaybeScanArgs(t, "shards", &shards)
		d.MaybeScanArgs(t, "shard", &shard)
		var requests []table.Request
		var err error
		switch d.Cmd {
		case "pattern":
			for _, p := range schema.Patterns() {
				if p.ID == arg("id") {
					return p.Operation + " " + p.Entity + " " + p.Index + ": " + p.Condition + "\n" + p.Request.String() + "\n"
				}
			}
		case "notes":
			requests, err = notesUp.Explain(notesIn{Owner: arg("owner"), From: arg("from"), To: arg("to"), Shards: shards})
		case "odd":
			requests, err = oddNotes.Explain(noteKeyOfShard{Owner: arg("owner"), Shard: shard})
		case "author":
			requests, err = byAuthor.Explain(authorIn{Author: arg("author"), Status: arg("status")})
		default:
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		if err != nil {
			return err.Error() + "\n"
		}
		var text strings.Builder
		for _, r := range requests {
			text.WriteString(r.String() + "\n")
		}
		return text.String()
	})
}
