package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestReadModels(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	if want := "The Art of Computer Programming: lent to grace, 2 times\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// The guide shows the complete program, except for its package comment.
func TestGuideShowsTheProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/guides/sql-projections.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), "package main\n")
	if !strings.Contains(string(guide), "```go\npackage main\n"+code+"```\n") {
		t.Error("the guide shows another program than main.go")
	}
}
