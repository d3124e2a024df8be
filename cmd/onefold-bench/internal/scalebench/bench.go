// Package scalebench measures several processes on one table: workers that share a stream, a worker
// that takes over from another, the export to the warehouse and queries there, and the write units
// of an event, with a server and with functions. It implements `onefold-bench scale`.
package scalebench

import (
	"context"
	"time"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

// Options configure a run. All but Lambda are required.
type Options struct {
	workbench.Setup
	Events   int           // events that workers fold, and that are exported
	Rows     int           // events in the month of the warehouse
	LeaseFor time.Duration // lease duration of workers; one worker is killed
	Lambda   string        // onefold-lambda program; "": skip functions
}

// Run runs the benchmarks and reports their results.
func Run(ctx context.Context, o Options, report func(workbench.Result)) error {
	b := &bench{o: o}
	return o.Take(ctx, []workbench.Measure{
		{Name: "workers", Take: b.workers},
		{Name: "takeover", Take: b.takeover},
		{Name: "export", Take: b.export},
		{Name: "query", Take: b.query},
		{Name: "units of servers", Take: b.serverUnits},
		{Name: "units of functions", Take: b.functionUnits},
		{Name: "units of shifts", Take: b.shiftUnits},
	}, report)
}

type bench struct{ o Options }
