package main

import (
	"io"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onefold/onefold/cmd/internal/clitest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"onefold-bench": main})
}

func TestScripts(t *testing.T) {
	clitest.NeedProcesses(t)
	testscript.Run(t, testscript.Params{Dir: "testdata/script", ContinueOnError: true})
}

// Every onefold-bench command in the guides exists, and has the flags that the guide uses.
func TestGuidesNameCommandsAndFlagsThatThereAre(t *testing.T) {
	parser, err := grammar(new(commands), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Check(t, "../..", "onefold-bench", parser.Model.Node, 8)
}
