package outbox_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuideShowsExamples checks that the code in the guide is that of the examples, which compile,
// and that the event that it shows is that of a golden file.
func TestGuideShowsExamples(t *testing.T) {
	files, err := filepath.Glob("*/example_test.go")
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	var examples string
	for _, file := range append(files, "example_test.go", "testdata/full.json") {
		examples += read(t, file)
	}
	guide := read(t, "../../docs/guides/outbox.md")
	blocks := regexp.MustCompile("(?s)```(?:go|json)\n(.*?)```").FindAllStringSubmatch(guide, -1)
	if len(blocks) != 6 {
		t.Errorf("the guide has %d blocks", len(blocks))
	}
	all := strings.Join(strings.Fields(examples), "")
	for _, b := range blocks {
		if !strings.Contains(all, strings.Join(strings.Fields(b[1]), "")) {
			t.Errorf("no example has this code of the guide:\n%s", b[1])
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
