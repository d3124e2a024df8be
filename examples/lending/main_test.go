package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const want = `main.Acquire: version 1, lent to "", <nil>
main.Lend: version 2, lent to "ada", <nil>
main.Lend: version 2, lent to "ada", the copy is lent
main.Return: version 3, lent to "", <nil>
main.Lend: version 4, lent to "grace", <nil>
{Title:The Art of Computer Programming LentTo:grace Times:2}
`

// The same commands have the same results when they are sent again after a restart, except one that
// was refused: it is decided again.
func TestLending(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, refused := range []string{"", "grace"} {
		var out bytes.Buffer
		if err := run(t.Context(), dir, &out); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if refused != "" {
			got = strings.Replace(got, `main.Lend: version 4, lent to "grace", the copy is lent`, `main.Lend: version 2, lent to "ada", the copy is lent`, 1)
		}
		if got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// The guide shows the program.
func TestGuideShowsTheProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/guides/eventstore.md")
	if err != nil {
		t.Fatal(err)
	}
	from := strings.Index(string(program), "// The events of a copy of a book.")
	to := strings.Index(string(program), "func main() {")
	if !strings.Contains(string(guide), "```go\n"+string(program[from:to])+"```\n") {
		t.Error("the guide does not have the code of main.go up to func main")
	}
}
