// Package scalebench measures what several processes make of one table: workers that share a stream, one that takes over from
// another, the way to the warehouse and what it answers, and the write units of an event, of a server and of functions. It belongs to
// `onefold bench scale`.
package scalebench

import (
	"context"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
)

// Options say what is measured. All are required but Lambda.
type Options struct {
	workbench.Setup
	Events   int           // that workers fold, and that are exported
	Rows     int           // of a month in the warehouse that is asked
	LeaseFor time.Duration // of workers, one of which is killed
	Lambda   string        // onefold-lambda; "": functions are not measured
}

// Run takes the measures and reports their figures.
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
