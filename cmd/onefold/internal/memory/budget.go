// Package memory divides what a process may take among its parts, and says how near it is to the end. Only the command line uses it.
package memory

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"

	"github.com/prometheus/client_golang/prometheus"
)

// Least is the smallest budget, in bytes: Go, the program and its smallest caches take 80 MB.
const Least = 128 << 20

// Flags say how much a process may take.
type Flags struct {
	Memory Size `help:"Maximum memory of the process, such as 512MB or 2GB, at least 128MB (default: 90 % of the cgroup limit, or 60 % of the machine's memory)." placeholder:"SIZE" env:"ONEFOLD_MEMORY"`
}

// Budget is what a process may take, and what of it its parts may, in bytes.
type Budget struct {
	Total  int64
	Source string // who says so: --memory, the cgroup or the machine

	Cache    int64 // blocks of tables
	MemTable int   // each of at most three
	Folds    int64 // changes that wait to be folded
	Requests int64 // bodies under way, and what is made of them
	Reports  int64 // raw facts that filtered reports keep
	Heap     int64 // all that Go knows of: its memory limit
}

// How the budget is divided. A small one is for the work at hand; what is beyond a part's most makes the heap larger, which is
// then collected less often.
const (
	cacheShare, mostCache       = 8, 64 << 20
	memTableShare, mostMemTable = 32, 32 << 20
	foldsShare, mostFolds       = 8, 256 << 20
	requestsShare, mostRequests = 8, 1 << 30
	reportsShare, mostReports   = 8, 128 << 20

	memTables    = 3
	outsideHeap  = 88 << 20 // the program itself, and what the system keeps for its goroutines and files
	outsideExtra = 2        // what C takes for each byte that it is asked for, by measurement
)

// Divide divides a budget. With cgo, Pebble takes its cache and its memory tables from C, where Go does not count them.
func Divide(total int64, source string, cgo bool) Budget {
	b := Budget{
		Total: total, Source: source,
		Cache: min(total/cacheShare, mostCache), MemTable: int(min(total/memTableShare, mostMemTable)),
		Folds: min(total/foldsShare, mostFolds), Requests: min(total/requestsShare, mostRequests), Reports: min(total/reportsShare, mostReports),
		Heap: total - outsideHeap,
	}
	if cgo {
		b.Heap = max(b.Heap-outsideExtra*(b.Cache+memTables*int64(b.MemTable)), total/3)
	}
	return b
}

// Budget finds the budget out. Errors: bad_memory, of one that is too small.
func (f *Flags) Budget(cgo bool) (Budget, error) {
	total, source := int64(f.Memory), "--memory"
	if total == 0 {
		total, source = machine(os.DirFS("/"), ram())
		total = max(total, Least)
	}
	if total < Least {
		return Budget{}, fmt.Errorf("bad_memory: --memory is %d MB, must be at least %d MB", total>>20, int64(Least)>>20)
	}
	return Divide(total, source, cgo), nil
}

// Limit sets Go's memory limit, unless GOMEMLIMIT says another, and keeps C's memory together. It returns what undoes both.
func (b *Budget) Limit() (undo func()) {
	apart := keepTogether()
	if os.Getenv("GOMEMLIMIT") != "" {
		return apart // somebody has decided
	}
	was := debug.SetMemoryLimit(b.Heap)
	return func() { debug.SetMemoryLimit(was); apart() }
}

// live is the part of the heap that was in use after the last garbage collection, in bytes.
func live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(min(sample[0].Value.Uint64(), math.MaxInt64))
}

// Used is which part of the heap's limit is in use, from 0 to 1, or beyond.
func (b *Budget) Used() float64 { return float64(live()) / float64(b.Heap) }

// Collectors tell of the budget.
func (b *Budget) Collectors() []prometheus.Collector {
	total := prometheus.NewGauge(prometheus.GaugeOpts{Name: "onefold_memory_budget_bytes", Help: "Memory budget of the process, from --memory, its cgroup or its machine."})
	total.Set(float64(b.Total))
	return []prometheus.Collector{total, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "onefold_memory_used_ratio", Help: "Share of Go's memory limit in use after the last garbage collection. From 0.85 on, requests with bodies are rejected.",
	}, b.Used)}
}
