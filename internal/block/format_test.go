package block_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/internal/block"
)

// golden are bodies of someThings and thingsWithCells from when the format was made: every later
// version must read them. ONEFOLD_WRITE_GOLDEN=1 writes them again.
var golden = []string{"testdata/one.block", "testdata/few.block", "testdata/many.block", "testdata/cells.block"}

func TestGolden(t *testing.T) {
	for i, facts := range [][]thing{someThings(1), someThings(12), someThings(150), thingsWithCells(40)} {
		if os.Getenv("ONEFOLD_WRITE_GOLDEN") != "" {
			if err := os.MkdirAll(filepath.Dir(golden[i]), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden[i], appended(t, things, facts), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		body, err := os.ReadFile(golden[i])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := things.Decode(nil, body); err != nil || !slices.Equal(allSaid(got), allSaid(facts)) {
			t.Errorf("%s: other facts are read: %v", golden[i], err)
		}
		info, err := block.Inspect(body)
		if err != nil || info != (block.Info{Kind: 't', Facts: len(facts), Compressed: i > 0}) {
			t.Errorf("%s: %+v, %v", golden[i], info, err)
		}
	}
}

// visit is the fact of the example in docs/format/blocks.md.
type visit struct {
	ID, Path, Country, Name string
	Seconds                 int
	Signed                  bool
}

var visits = block.New('v',
	block.ID(1, func(v *visit) *string { return &v.ID }),
	block.Text(2, func(v *visit) *string { return &v.Path }),
	block.Text(3, func(v *visit) *string { return &v.Country }),
	block.Text(4, func(v *visit) *string { return &v.Name }),
	block.Int(5, func(v *visit) *int { return &v.Seconds }),
	block.Bool(6, func(v *visit) *bool { return &v.Signed }).Skippable(),
)

// The bytes in docs/format/blocks.md are those of the facts described there.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/format/blocks.md")
	if err != nil {
		t.Fatal(err)
	}
	facts := []visit{
		{"01KRE7SHZT0000000000000001", "/", "DE", "", 20, false},
		{"01KRE7SKEP0000000000000002", "/docs", "DE", "", 300, true},
		{"01KRE7TS1T0000000000000003", "/", "DE", "", 25, false},
	}
	var told strings.Builder
	for _, line := range regexp.MustCompile(`(?m)^((?:[0-9a-f]{2,} )+) {2,}\S`).FindAllSubmatch(text, -1) {
		told.WriteString(strings.ReplaceAll(string(line[1]), " ", ""))
	}
	body := appended(t, visits, facts)
	if got := hex.EncodeToString(body); got != told.String() {
		t.Errorf("the document tells\n%s, not\n%s", told.String(), got)
	}
	if got, err := visits.Decode(nil, body); err != nil || !slices.Equal(got, facts) {
		t.Errorf("read: %+v, %v", got, err)
	}
}
