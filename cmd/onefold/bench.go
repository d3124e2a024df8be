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
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/querybench"
	"github.com/onefold/onefold/internal/traffic"
)

type benchCommands struct {
	Import benchImport `cmd:"" help:"Measure the import of a generated log: time, memory and write units."`
	Engine benchEngine `cmd:"" help:"Measure the embedded engine, each figure beside its limit."`

	Analytics  benchAnalytics  `cmd:"" help:"Measure web analytics: a server in its own process, driven over HTTP."`
	Scale      benchScale      `cmd:"" help:"Measure workers that share a stream, the warehouse, and the write units of an event, with servers and with functions."`
	Eventstore benchEventstore `cmd:"" help:"Measure the event store in this process, appends beside a raw disk sync."`

	Warehouse querybench.Bench `cmd:"" help:"Measure a month of events in a warehouse: writing, SQL queries and dashboard filters."`

	Filters benchFilters `cmd:"" help:"Measure filtered reports on a month of raw events in a table, uncached and cached."`

	Telemetry benchTelemetry `cmd:"" help:"Measure telemetry: a server in its own process, driven over HTTP and MQTT."`
}

type benchImport struct {
	Lines  int     `help:"Number of lines in the log." default:"2000000"`
	Days   int     `help:"Number of days that the log covers." default:"30"`
	Visit  float64 `help:"Mean page views per visit." default:"3"`
	Seed   uint64  `help:"Seed of the generated traffic." default:"1"`
	Dir    string  `help:"Directory for the log and the table, empty or absent (default: a temporary directory, removed afterwards)." type:"path"`
	Assets float64 `help:"Share of lines for assets and bots, 0 to 1. They cost reading only." default:"0"`

	CPUProfile  string `name:"cpuprofile" help:"Write a CPU profile of the import to this file (for go tool pprof)." type:"path"`
	HeapProfile string `name:"heapprofile" help:"Write a heap profile, taken when everything is folded, to this file (for go tool pprof)." type:"path"`
}

// benchResult is the result of the import benchmark.
type benchResult struct {
	Lines          int64                 `json:"lines"`
	Imported       int64                 `json:"imported"`
	Seconds        importSeconds         `json:"seconds"`
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
func (c *benchImport) Run(ctx context.Context, std streams, g *globals) error {
	dir := c.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "onefold-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	log := filepath.Join(dir, "access.log")
	fmt.Fprintf(std.err, "generating %s lines\n", grouped(int64(c.Lines)))
	if err := c.generate(log); err != nil {
		return err
	}
	own := g.within(filepath.Join(dir, "table"))
	resetPeakMemory()
	before := cpuSeconds()
	var result benchResult
	err := own.withStore(ctx, std.err, importTuning, func(s *store) error {
		stop, err := startProfile(c.CPUProfile)
		if err != nil {
			return err
		}
		command := importCommand{Site: "bench", Files: []string{log}}
		summary, err := command.run(ctx, std, s)
		if err = errors.Join(err, stop(), writeHeapProfile(c.HeapProfile)); err != nil {
			return err
		}
		result = c.measure(summary, s)
		return nil
	})
	if err != nil {
		return err
	}
	result.CPUSeconds = cpuSeconds() - before
	result.StoredMB = directoryMB(own.Data)
	if g.JSON {
		return printJSON(std.out, result)
	}
	return result.print(std.out)
}

func (c *benchImport) generate(path string) error {
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

func (c *benchImport) measure(summary *importSummary, s *store) benchResult {
	use := s.Engine.Metered().Tables[tableName]
	r := benchResult{
		Lines: summary.Lines, Imported: summary.Imported, Seconds: summary.Seconds,
		LinesPerSecond: float64(summary.Lines) / summary.Seconds.Total,
		PeakMemoryMB:   peakMemoryMB(), Entities: map[string]entityCost{},
	}
	events := float64(max(summary.Imported, 1))
	for name, e := range use.Entities {
		r.Entities[name] = entityCost{Writes: e.Writes, WriteUnits: e.WriteUnits, UnitsPerEvent: e.WriteUnits / events}
		r.UnitsPerEvent += e.WriteUnits / events
	}
	return r
}

func (r *benchResult) print(out io.Writer) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "lines\t%s\n", grouped(r.Lines))
	fmt.Fprintf(w, "events\t%s\n", grouped(r.Imported))
	fmt.Fprintf(w, "lines per second\t%s\n", grouped(int64(r.LinesPerSecond)))
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
		fmt.Fprintf(w, "%s\t%s\t%.3f\t\x20 %s\n", grouped(e.Writes), grouped(int64(e.WriteUnits)), e.UnitsPerEvent, name)
	}
	w.Flush()
	_, err := out.Write(b.Bytes())
	return err
}

// cpuSeconds returns the CPU time of this process, user and system, in seconds.
func cpuSeconds() float64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()).Seconds()
}

// resetPeakMemory resets the peak recorded by Linux, so that generating the log does not count. On
// other systems it does count.
func resetPeakMemory() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // best effort: without it the figure is only larger
}

// peakMemoryMB returns the largest resident set so far, in MB.
func peakMemoryMB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				return 0
			}
			return kb / 1024
		}
	}
	return 0
}

func directoryMB(dir string) float64 {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		return 0
	}
	return float64(total) / (1 << 20)
}
