package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/cmd/internal/terminal"
)

// globals are the flags of every command.
type globals struct {
	Onefold string           `help:"Path of the onefold binary, for benchmarks of a whole server (default: next to this program, otherwise in PATH)." type:"existingfile" placeholder:"FILE"`
	JSON    bool             `help:"Print machine-readable output." env:"ONEFOLD_JSON"`
	Verbose bool             `short:"v" help:"Log debug messages to standard error." env:"ONEFOLD_VERBOSE"`
	Version kong.VersionFlag `help:"Print the version."`
}

// commands is the command line. Each command is a type with a Run method, in a file of the
// command's name.
type commands struct {
	globals

	Import     importCommand     `cmd:"" help:"Measure the import of a generated log: time, memory and write units."`
	Engine     engineCommand     `cmd:"" help:"Measure the embedded engine, each figure beside its limit."`
	Analytics  analyticsCommand  `cmd:"" help:"Measure web analytics: a server in its own process, driven over HTTP."`
	Scale      scaleCommand      `cmd:"" help:"Measure workers that share a stream, the warehouse, and the write units of an event, with servers and with functions."`
	Eventstore eventstoreCommand `cmd:"" help:"Measure the event store in this process, appends beside a raw disk sync."`
	Warehouse  warehouseCommand  `cmd:"" help:"Measure a month of events in a warehouse: writing, SQL queries and dashboard filters."`
	Filters    filtersCommand    `cmd:"" help:"Measure filtered reports on a month of raw events in a table, with and without a cache."`
	Telemetry  telemetryCommand  `cmd:"" help:"Measure telemetry: a server in its own process, driven over HTTP and MQTT."`
}

func (g *globals) logger(w io.Writer) *slog.Logger { return terminal.Logger(w, g.Verbose) }

// program returns the onefold binary: a path, or a name to look up in PATH.
func (g *globals) program() string {
	if g.Onefold != "" {
		return g.Onefold
	}
	const name = "onefold"
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(beside); err == nil {
			return beside
		}
	}
	return name
}
