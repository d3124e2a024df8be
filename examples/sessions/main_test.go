package main

import (
	"os"
	"strings"
	"testing"
)

// The README shows this program, all of it but its comment.
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

// It runs as shown, also where nothing has been imported yet.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if err := run(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
}
