// Package ingeststate keeps the ingest state of a device in memory: its rate, its metrics, and when its
// status was last updated.
package ingeststate

import (
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// State is the ingest state of one device. Call Limit and Load before other methods. It is safe
// for concurrent use.
type State struct {
	mu      sync.Mutex
	limiter *rate.Limiter
	updated time.Time         // last update of the status
	metrics map[string]metric // sent so far; nil: not learned yet
}

// metric is the state of one metric, by the device's clock in epoch milliseconds.
type metric struct {
	at       int64 // last reading with the metric
	reported int64 // last reading that updated the status
}

// never is the value of told for a metric that the status has not seen.
const never = math.MinInt64

// Limit sets the allowed readings per minute, with bursts of a minute's worth.
func (s *State) Limit(perMinute int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit := rate.Limit(float64(perMinute) / 60); s.limiter == nil || s.limiter.Limit() != limit {
		s.limiter = rate.NewLimiter(limit, perMinute)
	}
}

// Loaded reports whether Load was called.
func (s *State) Loaded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.metrics != nil
}

// Load sets the metrics in the status with their times. Only the first call has an effect.
func (s *State) Load(metrics map[string]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.metrics != nil {
		return
	}
	s.metrics = make(map[string]metric, len(metrics))
	for name, at := range metrics {
		s.metrics[name] = metric{at, at}
	}
}

// Allow accepts a reading, or returns after what time the next one will be accepted.
func (s *State) Allow(now time.Time) (after time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limiter.AllowN(now, 1) {
		return 0, true
	}
	return time.Duration(float64(time.Second) / float64(s.limiter.Limit())), false
}

// alive is how long a metric counts against the limit after its last reading, in milliseconds. A
// day, so that no daily aggregate has many more metrics than the limit.
const alive = 24 * 60 * 60 * 1000

// near reports whether a metric was sent within a day before or after a time.
func (m metric) near(at int64) bool { return max(m.at, at)-min(m.at, at) <= alive }

// RecordMetrics records the metrics of a reading, unless the device would then have more than most within a
// day of it. It returns the excess metrics, sorted. at is in epoch milliseconds, by the device's
// clock; values are by metric.
func RecordMetrics[V any](s *State, at int64, values map[string]V, most int) (excess []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh []string
	for name := range values {
		if m, known := s.metrics[name]; !known || !m.near(at) {
			fresh = append(fresh, name)
		}
	}
	if len(fresh) > 0 {
		slices.Sort(fresh)
		room := max(most-s.countNear(at), 0)
		excess = fresh[min(room, len(fresh)):]
		s.trim(at, most)
	}
	for name := range values {
		if _, not := slices.BinarySearch(excess, name); not {
			continue
		}
		m, known := s.metrics[name]
		if !known {
			m.reported = never
		}
		m.at = at
		s.metrics[name] = m
	}
	return excess
}

// countNear counts the metrics sent within a day of a time.
func (s *State) countNear(at int64) (n int) {
	for _, m := range s.metrics {
		if m.near(at) {
			n++
		}
	}
	return n
}

// leastKept is the minimum number of remembered metrics, for low limits.
const leastKept = 256

// trim limits the remembered metrics. Those that were not sent within a day of at are dropped
// first.
func (s *State) trim(at int64, most int) {
	keep := max(4*most, leastKept)
	for _, all := range []bool{false, true} {
		for name, m := range s.metrics {
			if len(s.metrics) <= keep {
				return
			}
			if all || !m.near(at) {
				delete(s.metrics, name)
			}
		}
	}
}

// ClearReported forgets that a reading updated the status, because it was not stored: it was a duplicate,
// or the store failed.
func ClearReported[V any](s *State, values map[string]V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updated = time.Time{}
	for name := range values {
		if m, known := s.metrics[name]; known {
			s.metrics[name] = metric{m.at, never}
		}
	}
}

// Quiet reports whether a reading need not update the device's status, because within every the
// status was updated for the device, and for each of the reading's metrics by a reading less than
// every older. A reading that is sent again is not quiet, because its first copy may not have been
// stored. A past reading says nothing about whether the device is online.
func Quiet[V any](s *State, at int64, values map[string]V, now time.Time, every time.Duration, past bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	quiet := past || now.Sub(s.updated) < every && !now.Before(s.updated) // the clock may have been set back
	for name := range values {
		told := s.metrics[name].reported
		quiet = quiet && at != told && at-every.Milliseconds() < told
	}
	if quiet {
		return true
	}
	if !past {
		s.updated = now
	}
	for name := range values {
		m := s.metrics[name]
		s.metrics[name] = metric{at, max(m.reported, at)}
	}
	return false
}
