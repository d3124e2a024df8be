package main

import (
	"os"
	"strings"
	"testing"
)

// The README shows the complete program, except for its package comment.
func TestReadmeIsTheProgram(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), "package main\n")
	if !strings.Contains(string(readme), "```go\npackage main\n"+code+"```\n") {
		t.Error("the README shows another program than examples/sessions/main.go")
	}
}

// It runs as shown, even before anything was imported.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if err := run(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
}
