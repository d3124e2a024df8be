package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/onefold/onefold/cmd/onefold/internal/blueprintcli"
)

// The designs that are committed are what the schemas say now: `make docs` writes them again.
func TestDocumentsAreCurrent(t *testing.T) {
	var g globals
	for _, name := range []string{"analytics", "telemetry", "eventstore"} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w := blueprintcli.Write{Schema: name, Format: "markdown", Rows: 2, Check: filepath.Join("..", "..", "docs", "design", name+".md")}
			if err := w.Run(t.Context(), g.blueprintEnv(streams{out: &out})); err != nil {
				t.Errorf("%v\nor all of them: make docs", err)
			}
		})
	}
}
