package gauges

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/engine"
)

// Engine returns collectors for an embedded database and its disk.
func Engine(db *engine.DB) []prometheus.Collector {
	return []prometheus.Collector{engineCollector{db}, diskCollector{db}}
}

// engineCollector exports the engine's metrics.
type engineCollector struct {
	db interface{ Metrics() engine.Metrics }
}

// sample is one metric of the engine.
type sample struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*engine.Metrics) float64
}

func gauge[N int64 | uint64](name, help string, of func(*engine.Metrics) N) sample {
	return engineSample(name, help, prometheus.GaugeValue, func(m *engine.Metrics) float64 { return float64(of(m)) })
}

func counter[N int64 | uint64](name, help string, of func(*engine.Metrics) N) sample {
	return engineSample(name, help, prometheus.CounterValue, func(m *engine.Metrics) float64 { return float64(of(m)) })
}

func engineSample(name, help string, kind prometheus.ValueType, of func(*engine.Metrics) float64) sample {
	return sample{prometheus.NewDesc(name, help, nil, nil), kind, of}
}

var walSyncs = prometheus.NewDesc("onefold_engine_wal_sync_seconds", "Time to sync the write-ahead log. Writes are acknowledged after a sync.", nil, nil)

// Names are written in full, so that they can be searched for.
var samples = []sample{
	gauge("onefold_engine_commits_waiting", "Commits waiting for a sync of the write-ahead log.", func(m *engine.Metrics) int64 { return m.CommitsWaiting }),
	counter("onefold_engine_write_stalls_total", "Number of write stalls, where all writers waited for flushes or compactions.", func(m *engine.Metrics) int64 { return m.Stalls }),
	engineSample("onefold_engine_write_stall_seconds_total", "Time that writers waited for flushes or compactions, including a current stall.", prometheus.CounterValue,
		func(m *engine.Metrics) float64 { return m.Stalled.Seconds() }),
	engineSample("onefold_engine_write_stalled", "1 while writers wait for flushes or compactions, 0 otherwise.", prometheus.GaugeValue, func(m *engine.Metrics) float64 {
		if m.Stalling {
			return 1
		}
		return 0
	}),
	counter("onefold_engine_flushes_total", "Memtables flushed to files.", func(m *engine.Metrics) int64 { return m.Flushes }),
	counter("onefold_engine_compactions_total", "Completed compactions.", func(m *engine.Metrics) int64 { return m.Compactions }),
	counter("onefold_engine_background_failures_total", "Flushes and compactions that failed. They are retried.", func(m *engine.Metrics) int64 { return m.Failures }),
	gauge("onefold_engine_damaged_files", "Files in which a read or a scrub has found damage since the database was opened.", func(m *engine.Metrics) int64 { return m.DamagedFiles }),
	gauge("onefold_engine_compactions_running", "Running compactions.", func(m *engine.Metrics) int64 { return m.CompactionsRunning }),
	gauge("onefold_engine_compaction_debt_bytes", "Estimated bytes to compact until the tree is in shape.", func(m *engine.Metrics) uint64 { return m.CompactionDebt }),
	gauge("onefold_engine_l0_files", "Files in level 0 of the tree.", func(m *engine.Metrics) int64 { return m.L0Files }),
	gauge("onefold_engine_read_amplification", "Maximum number of sorted runs that a read examines.", func(m *engine.Metrics) int64 { return m.ReadAmp }),
	gauge("onefold_engine_files", "Files that hold rows.", func(m *engine.Metrics) int64 { return m.Tables }),
	gauge("onefold_engine_disk_bytes", "Bytes on disk of all files of the database, including the log and files to be deleted.", func(m *engine.Metrics) uint64 { return m.Bytes }),
	gauge("onefold_engine_wal_bytes", "Bytes on disk of the write-ahead log.", func(m *engine.Metrics) uint64 { return m.LogBytes }),
	counter("onefold_engine_wal_written_bytes_total", "Bytes written to the write-ahead log.", func(m *engine.Metrics) uint64 { return m.LogBytesWritten }),
	counter("onefold_engine_flush_written_bytes_total", "Bytes written by flushes.", func(m *engine.Metrics) uint64 { return m.FlushBytesWritten }),
	counter("onefold_engine_compaction_written_bytes_total", "Bytes written by compactions.", func(m *engine.Metrics) uint64 { return m.CompactBytesWritten }),
	gauge("onefold_engine_block_cache_bytes", "Memory of the block cache in use.", func(m *engine.Metrics) int64 { return m.BlockCacheBytes }),
	gauge("onefold_engine_block_cache_max_bytes", "Memory that the block cache may use.", func(m *engine.Metrics) int64 { return m.BlockCacheMaxBytes }),
	counter("onefold_engine_block_cache_hits_total", "Blocks found in the block cache.", func(m *engine.Metrics) int64 { return m.BlockCacheHits }),
	counter("onefold_engine_block_cache_misses_total", "Blocks not found in the block cache.", func(m *engine.Metrics) int64 { return m.BlockCacheMisses }),
	gauge("onefold_engine_memtable_bytes", "Memory of memtables, including flushed ones that are still read.", func(m *engine.Metrics) uint64 { return m.MemTableBytes }),
	gauge("onefold_engine_table_cache_bytes", "Memory of the cache of open files.", func(m *engine.Metrics) int64 { return m.TableCacheBytes }),
}

// Describe implements prometheus.Collector.
func (c engineCollector) Describe(out chan<- *prometheus.Desc) {
	out <- walSyncs
	for i := range samples {
		out <- samples[i].desc
	}
}

// Collect implements prometheus.Collector.
func (c engineCollector) Collect(out chan<- prometheus.Metric) {
	m := c.db.Metrics()
	out <- histogram(walSyncs, &m)
	for i := range samples {
		out <- prometheus.MustNewConstMetric(samples[i].desc, samples[i].kind, samples[i].of(&m))
	}
}

func histogram(desc *prometheus.Desc, m *engine.Metrics) prometheus.Metric {
	buckets := make(map[float64]uint64, len(m.Syncs.Bounds))
	for i, bound := range m.Syncs.Bounds {
		buckets[float64(bound)/float64(time.Second)] = m.Syncs.Counts[i]
	}
	return prometheus.MustNewConstHistogram(desc, m.Syncs.Count, m.Syncs.Sum.Seconds(), buckets)
}
