package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/onefold/onefold/cmd/internal/bulkimport"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/profile"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/traffic"
)

type importCommand struct {
	Lines  int     `help:"Number of lines in the log." default:"2000000"`
	Days   int     `help:"Number of days that the log covers." default:"30"`
	Visit  float64 `help:"Mean page views per visit." default:"3"`
	Seed   uint64  `help:"Seed of the generated traffic." default:"1"`
	Dir    string  `help:"Directory for the log and the table, empty or absent (default: a temporary directory, removed afterwards)." type:"path"`
	Assets float64 `help:"Share of lines for assets and bots, 0 to 1. They cost reading only." default:"0"`

	CPUProfile  string `name:"cpuprofile" help:"Write a CPU profile of the import to this file (for go tool pprof)." type:"path"`
	HeapProfile string `name:"heapprofile" help:"Write a heap profile, taken when everything is folded, to this file (for go tool pprof)." type:"path"`
}

// importResult is the result of the import benchmark.
type importResult struct {
	Lines          int64                 `json:"lines"`
	Imported       int64                 `json:"imported"`
	Seconds        bulkimport.Seconds    `json:"seconds"`
	LinesPerSecond float64               `json:"linesPerSecond"`
	CPUSeconds     float64               `json:"cpuSeconds"`
	PeakMemoryMB   float64               `json:"peakMemoryMB"` // peak resident set of the process, 0 if the system does not report it
	StoredMB       float64               `json:"storedMB"`
	Visits         int64                 `json:"visits"`
	UnitsPerEvent  float64               `json:"writeUnitsPerEvent"`
	Entities       map[string]entityCost `json:"entities"`
}

type entityCost struct {
	Writes        int64   `json:"writes"`
	WriteUnits    float64 `json:"writeUnits"`
	UnitsPerEvent float64 `json:"unitsPerEvent"`
}

// Run generates the log, imports it into a new table and prints the measurements.
func (c *importCommand) Run(ctx context.Context, std streams, g *globals) error {
	dir := c.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "onefold-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	log := filepath.Join(dir, "access.log")
	fmt.Fprintf(std.err, "generating %s lines\n", terminal.Grouped(int64(c.Lines)))
	if err := c.generate(log); err != nil {
		return err
	}
	table := filepath.Join(dir, "table")
	resetPeakMemory()
	before := cpuSeconds()
	result, err := c.measure(ctx, std, g, log, table)
	if err != nil {
		return err
	}
	result.CPUSeconds = cpuSeconds() - before
	result.StoredMB = directoryMB(table)
	if g.JSON {
		return terminal.JSON(std.out, result)
	}
	return result.print(std.out)
}

// measure imports a log into a new table in a directory.
func (c *importCommand) measure(ctx context.Context, std streams, g *globals, log, dir string) (r importResult, err error) {
	s, err := g.open(ctx, std.err, dir, engine.Options{CacheBytes: bulkimport.CacheBytes},
		fold.Options{FlushBytes: bulkimport.FlushBytes, FlushAge: bulkimport.FlushAge, Known: bulkimport.Known}, delays.Holds{})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.DB.Close()) }()
	stop, err := profile.CPU(c.CPUProfile)
	if err != nil {
		return r, err
	}
	files := []string{log}
	bar := terminal.NewFiles(std.err, false, files)
	defer bar.Close()
	im := bulkimport.Import{Table: s.Table, Worker: s.Worker, Files: files, Progress: bar, Options: logimport.Options{Site: "bench"}}
	imported, err := im.Run(ctx)
	if err = errors.Join(err, stop(), profile.Heap(c.HeapProfile)); err != nil {
		return r, err
	}
	return resultOf(&imported, s.DB.Metered().Tables[products.TableName]), nil
}

func (c *importCommand) generate(path string) error {
	share := c.Assets
	if share <= 0 {
		share = -1
	}
	generator, err := traffic.New(traffic.Options{Seed: c.Seed, Days: c.Days, EventsPerVisit: c.Visit, AssetShare: share, BotShare: share})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = generator.WriteLog(w, c.Lines)
	if flushed := w.Flush(); err == nil {
		err = flushed
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func resultOf(im *bulkimport.Result, use engine.TableUse) importResult {
	r := importResult{
		Lines: im.Lines, Imported: im.Imported, Seconds: im.Seconds,
		LinesPerSecond: float64(im.Lines) / im.Seconds.Total,
		PeakMemoryMB:   peakMemoryMB(), Entities: map[string]entityCost{},
	}
	events := float64(max(im.Imported, 1))
	for name, e := range use.Entities {
		r.Entities[name] = entityCost{Writes: e.Writes, WriteUnits: e.WriteUnits, UnitsPerEvent: e.WriteUnits / events}
		r.UnitsPerEvent += e.WriteUnits / events
	}
	return r
}

func (r *importResult) print(out io.Writer) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "lines\t%s\n", terminal.Grouped(r.Lines))
	fmt.Fprintf(w, "events\t%s\n", terminal.Grouped(r.Imported))
	fmt.Fprintf(w, "lines per second\t%s\n", terminal.Grouped(int64(r.LinesPerSecond)))
	fmt.Fprintf(w, "seconds\t%.1f (read and store %.1f, fold the rest %.1f, roll up %.1f)\n",
		r.Seconds.Total, r.Seconds.Read, r.Seconds.Fold, r.Seconds.Roll)
	fmt.Fprintf(w, "CPU time\t%.1f s, %.0f µs per line\n", r.CPUSeconds, 1e6*r.CPUSeconds/float64(max(r.Lines, 1)))
	fmt.Fprintf(w, "peak memory\t%.0f MB\n", r.PeakMemoryMB)
	fmt.Fprintf(w, "on disk\t%.0f MB\n", r.StoredMB)
	fmt.Fprintf(w, "write units per event\t%.3f\n", r.UnitsPerEvent)
	w.Flush() // cannot fail, the writer is a buffer
	fmt.Fprintln(&b)
	w = tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "writes\tunits\tunits per event\t\x20 item")
	names := slices.SortedFunc(maps.Keys(r.Entities), func(a, b string) int {
		return int(r.Entities[b].WriteUnits - r.Entities[a].WriteUnits)
	})
	for _, name := range names {
		e := r.Entities[name]
		fmt.Fprintf(w, "%s\t%s\t%.3f\t\x20 %s\n", terminal.Grouped(e.Writes), terminal.Grouped(int64(e.WriteUnits)), e.UnitsPerEvent, name)
	}
	w.Flush()
	_, err := out.Write(b.Bytes())
	return err
}
