package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

const guide = "../../docs/guides/your-own-schema.md"

// blocks returns the guide's code blocks of a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	return found
}

// The guide's code is the complete program.
func TestGuideIsTheProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(blocks(t, "go"), "\n"); got != string(program) {
		a, b := strings.Split(got, "\n"), strings.Split(string(program), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("line %d of the guide's code is %q, of the program %q", i+1, a[i], b[i])
			}
		}
		t.Fatalf("the guide's code has %d lines, the program %d", len(a), len(b))
	}
}

// The guide shows the output of the program.
func TestGuideShowsWhatIsPrinted(t *testing.T) {
	shown := blocks(t, "text")
	for i, args := range [][]string{nil, {"cost"}} {
		var out bytes.Buffer
		if err := run(t.Context(), args, &out); err != nil {
			t.Fatal(err)
		}
		if len(shown) != 2 || shown[i] != out.String() {
			t.Errorf("with %q the program prints\n%sand the guide shows %q", args, out.String(), shown)
		}
	}
}

// The design contains what the guide says, and is reproducible.
func TestDesign(t *testing.T) {
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run(t.Context(), []string{"design"}, out); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != second.String() {
		t.Error("two designs differ")
	}
	for _, want := range []string{"# The design of `rooms`", "`PERSON#{person}` / `BOOKING#{hour:hour}#{room}`", "### R1", "### R2", "### R3", "PutItem {"} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("the design does not say %q", want)
		}
	}
	if err := run(t.Context(), []string{"price"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), `unknown command "price"`) {
		t.Errorf("an unknown word: error %v", err)
	}
}
