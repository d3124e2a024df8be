package store

import (
	"sync"
	"sync/atomic"
	"time"
)

// Metrics are metrics of an open store. Counters start at 0 when the store is opened.
type Metrics struct {
	Syncs          Histogram // syncs of the write-ahead log
	CommitsWaiting int64     // visible commits that wait for such a sync

	Stalls   int64         // how often Pebble made writers wait for row files
	Stalled  time.Duration // total time of stalls, including the current one
	Stalling bool          // writers are waiting now

	Flushes            int64
	Compactions        int64
	CompactionsRunning int64
	CompactionDebt     uint64 // estimated bytes to compact
	Failures           int64  // failed flushes and compactions, which are repeated
	DamagedFiles       int64  // row files in which readers or scrubs have found damage since the store was opened

	L0Files  int64
	ReadAmp  int64 // sorted runs that a read may have to search: sublevels of L0 and nonempty levels
	Tables   int64 // row files in all levels
	LogBytes uint64
	Bytes    uint64 // of all files of the store on disk, including the log and files waiting for deletion

	LogBytesWritten     uint64 // by the log
	FlushBytesWritten   uint64 // by flushes
	CompactBytesWritten uint64 // by compactions

	BlockCacheBytes, BlockCacheMaxBytes int64
	BlockCacheHits, BlockCacheMisses    int64
	MemTableBytes                       uint64 // of memory tables, including flushed ones still in use
	TableCacheBytes                     int64  // of cached open files
}

// Measure returns the metrics of the store. It holds Pebble's lock for microseconds.
func (s *Store) Measure() Metrics {
	p := s.DB.Metrics()
	m := Metrics{
		Syncs: s.disk.syncs.read(), Failures: s.room.failures.Load(), DamagedFiles: int64(s.damaged.Files()),
		Flushes: p.Flush.Count, Compactions: p.Compact.Count, CompactionsRunning: p.Compact.NumInProgress, CompactionDebt: p.Compact.EstimatedDebt,
		L0Files: p.Levels[0].TablesCount, LogBytes: p.WAL.PhysicalSize, LogBytesWritten: p.WAL.BytesWritten, Bytes: p.DiskSpaceUsage(),
		BlockCacheBytes: p.BlockCache.Size, BlockCacheMaxBytes: s.cacheBytes, BlockCacheHits: p.BlockCache.Hits, BlockCacheMisses: p.BlockCache.Misses,
		MemTableBytes: p.MemTable.Size + p.MemTable.ZombieSize, TableCacheBytes: p.FileCache.Size,
	}
	m.Stalls, m.Stalled, m.Stalling = s.disk.stalls.read()
	for i := range p.Levels {
		l := &p.Levels[i]
		m.ReadAmp += int64(l.Sublevels)
		m.Tables += l.TablesCount
		m.FlushBytesWritten += l.TableBytesFlushed + l.BlobBytesFlushed
		m.CompactBytesWritten += l.TableBytesCompacted + l.BlobBytesCompacted
	}
	return m
}

// Histogram counts durations. Bounds ascend; Counts[i] is the number of durations of at most
// Bounds[i].
type Histogram struct {
	Bounds []time.Duration
	Counts []uint64
	Count  uint64 // total number
	Sum    time.Duration
}

// syncBounds range from a disk with a battery-backed cache to one about to be given up.
var syncBounds = [...]time.Duration{
	250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 10 * time.Second,
}

// latency measures operations without a lock.
type latency struct {
	counts [len(syncBounds) + 1]atomic.Uint64 // by the first bound that is not exceeded; the last is for longer ones
	sum    atomic.Int64
}

func (l *latency) add(took time.Duration) {
	i := 0
	for i < len(syncBounds) && took > syncBounds[i] {
		i++
	}
	l.counts[i].Add(1)
	l.sum.Add(int64(took))
}

func (l *latency) read() Histogram {
	h := Histogram{Bounds: syncBounds[:], Counts: make([]uint64, len(syncBounds)), Sum: time.Duration(l.sum.Load())}
	for i := range l.counts {
		h.Count += l.counts[i].Load()
		if i < len(h.Counts) {
			h.Counts[i] = h.Count
		}
	}
	return h
}

// stalls measures how often and how long writers wait for row files. Pebble reports start and end,
// one stall at a time.
type stalls struct {
	now func() time.Time

	mu    sync.Mutex
	times int64
	took  time.Duration // of finished stalls
	since time.Time     // zero: no stall in progress
}

func (s *stalls) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times++
	s.since = s.now()
}

func (s *stalls) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.since.IsZero() {
		s.took += s.now().Sub(s.since)
	}
	s.since = time.Time{}
}

func (s *stalls) read() (times int64, took time.Duration, stalling bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	took = s.took
	if stalling = !s.since.IsZero(); stalling {
		took += s.now().Sub(s.since)
	}
	return s.times, took, stalling
}
