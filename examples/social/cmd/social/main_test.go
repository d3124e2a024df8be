package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The README shows the output of the program.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "\n"+out.String()+"```") {
		t.Errorf("the README does not show what the program prints:\n%s", out.String())
	}
}
