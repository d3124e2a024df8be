package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/onefold/onefold/cmd/onefold/internal/blueprintcli"
)

// The committed designs match the schemas. `make docs` writes them.
func TestDocumentsAreCurrent(t *testing.T) {
	var g globals
	for name, file := range map[string]string{
		"analytics": "docs/design/analytics.md", "telemetry": "docs/design/telemetry.md", "eventstore": "docs/design/eventstore.md",
		"examples/orders": "examples/orders/design.md", "examples/social": "examples/social/design.md", "examples/ledger": "examples/ledger/design.md",
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w := blueprintcli.Write{Schema: name, Format: "markdown", Rows: 2, Check: filepath.Join("..", "..", filepath.FromSlash(file))}
			if err := w.Run(t.Context(), g.blueprintEnv(streams{out: &out})); err != nil {
				t.Errorf("%v\nor all of them: make docs", err)
			}
		})
	}
}
