// Package memory divides the memory budget of a process among its parts, and measures how much of
// it is in use.
package memory

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"

	"github.com/prometheus/client_golang/prometheus"
)

// Least is the smallest budget in bytes. Go, the program and its smallest caches take 80 MB.
const Least = 128 << 20

// Flags set the budget.
type Flags struct {
	Memory Size `help:"Maximum memory of the process, such as 512MB or 2GB, at least 128MB (default: 90 % of the cgroup limit, or 60 % of the machine's memory)." placeholder:"SIZE" env:"ONEFOLD_MEMORY"`
}

// Budget is the memory of a process and of its parts, in bytes.
type Budget struct {
	Total  int64
	Source string // origin of the budget: --memory, the cgroup or the machine

	Cache    int64 // cache of table blocks
	MemTable int   // each of at most three memtables
	Folds    int64 // changes waiting to be folded
	Requests int64 // request bodies in progress, and data derived from them
	Reports  int64 // raw facts cached for filtered reports
	Heap     int64 // Go's memory limit
}

// Shares of the budget. A small budget goes to the work at hand. Memory beyond the maximum of every
// part enlarges the heap, so that garbage is collected less often.
const (
	cacheShare, mostCache       = 8, 64 << 20
	memTableShare, mostMemTable = 32, 32 << 20
	foldsShare, mostFolds       = 8, 256 << 20
	requestsShare, mostRequests = 8, 1 << 30
	reportsShare, mostReports   = 8, 128 << 20

	memTables    = 3
	outsideHeap  = 88 << 20 // the program, and kernel memory of its threads and files
	outsideExtra = 2        // measured memory that C takes per byte requested
)

// Divide divides a budget. With cgo, Pebble allocates its cache and memtables in C, outside of Go's
// limit.
func Divide(total int64, source string, cgo bool) Budget {
	b := Budget{
		Total: total, Source: source,
		Cache: min(total/cacheShare, mostCache), MemTable: int(min(total/memTableShare, mostMemTable)),
		Folds: min(total/foldsShare, mostFolds), Requests: min(total/requestsShare, mostRequests), Reports: min(total/reportsShare, mostReports),
		Heap: total - outsideHeap,
	}
	// C memory is not part of Go's limit, so it is subtracted. The heap keeps at least a third, or
	// Go would collect garbage all the time.
	if cgo {
		b.Heap = max(b.Heap-outsideExtra*(b.Cache+memTables*int64(b.MemTable)), total/3)
	}
	return b
}

// Budget determines the budget. Errors: bad_memory if it is too small.
func (f *Flags) Budget(cgo bool) (Budget, error) {
	total, source := int64(f.Memory), "--memory"
	if total == 0 {
		total, source = machine(os.DirFS("/"), ram())
		// A small machine is not an error, unlike a small --memory.
		total = max(total, Least)
	}
	if total < Least {
		return Budget{}, fmt.Errorf("bad_memory: --memory is %d MB, must be at least %d MB", total>>20, int64(Least)>>20)
	}
	return Divide(total, source, cgo), nil
}

// Limit sets Go's memory limit, unless GOMEMLIMIT is set, and limits the C library's memory. It
// returns a function that undoes both. Until then, an idle process returns free memory.
func (b *Budget) Limit() (undo func()) {
	together, idle := keepTogether(), returnWhenIdle()
	apart := func() { idle(); together() }
	if os.Getenv("GOMEMLIMIT") != "" {
		return apart // set by the user
	}
	was := debug.SetMemoryLimit(b.Heap)
	return func() { debug.SetMemoryLimit(was); apart() }
}

// live returns the bytes of the heap in use after the last garbage collection.
func live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(min(sample[0].Value.Uint64(), math.MaxInt64))
}

// Used returns the share of the heap limit in use: 0 to 1, or above if the limit is exceeded.
func (b *Budget) Used() float64 { return float64(live()) / float64(b.Heap) }

// Collectors returns the metrics of the budget.
func (b *Budget) Collectors() []prometheus.Collector {
	total := prometheus.NewGauge(prometheus.GaugeOpts{Name: "onefold_memory_budget_bytes", Help: "Memory budget of the process, from --memory, its cgroup or its machine."})
	total.Set(float64(b.Total))
	return []prometheus.Collector{total, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "onefold_memory_used_ratio", Help: "Share of Go's memory limit in use after the last garbage collection. From 0.85 on, requests with bodies are rejected.",
	}, b.Used)}
}
