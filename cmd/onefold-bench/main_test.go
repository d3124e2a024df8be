package main

import (
	"io"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onefold/onefold/cmd/internal/guidetest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"onefold-bench": main})
}

// needProcesses skips a test under -short that starts processes or takes as long.
func needProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the time to start processes is missing: leave -short out")
	}
}

func TestScripts(t *testing.T) {
	needProcesses(t)
	testscript.Run(t, testscript.Params{Dir: "testdata/script", ContinueOnError: true})
}

// Every onefold-bench command in the guides exists, and has the flags that the guide uses.
func TestGuidesNameCommandsAndFlagsThatThereAre(t *testing.T) {
	parser, err := grammar(new(commands), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	guidetest.Check(t, "../..", "onefold-bench", parser.Model.Node, 8)
}
