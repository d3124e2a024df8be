// Package ingeststate remembers how a device sends: its rate, its metrics, and when its status was last updated for each.
package ingeststate

import (
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Sender is what is remembered of one device. The zero value knows nothing; Limit and Learn come before the rest. It is safe
// for concurrent use.
type Sender struct {
	mu      sync.Mutex
	limiter *rate.Limiter
	told    time.Time         // when the status was told anything
	metrics map[string]metric // that were sent; nil: not learned yet
}

// metric is what is remembered of one, by the device's clock in epoch milliseconds.
type metric struct {
	at   int64 // of the reading that had it last
	told int64 // when the status was told of it last
}

// never is when the status was told of a metric that it was not told of yet.
const never = math.MinInt64

// Limit sets how many readings a minute are taken, in bursts of a minute's.
func (s *Sender) Limit(perMinute int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit := rate.Limit(float64(perMinute) / 60); s.limiter == nil || s.limiter.Limit() != limit {
		s.limiter = rate.NewLimiter(limit, perMinute)
	}
}

// Learned reports whether Learn was called.
func (s *Sender) Learned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.metrics != nil
}

// Learn takes over which metrics the status knows, and of when. What is known already stays.
func (s *Sender) Learn(metrics map[string]int64) {
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

// Allow takes a reading, or says when the next one will be taken.
func (s *Sender) Allow(now time.Time) (after time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limiter.AllowN(now, 1) {
		return 0, true
	}
	return time.Duration(float64(time.Second) / float64(s.limiter.Limit())), false
}

// alive is for how long a metric counts that is not sent any more, in milliseconds: so that no aggregate of a day has many more
// than the limit.
const alive = 24 * 60 * 60 * 1000

// near reports whether a metric was sent within a day of a time, before or after it.
func (m metric) near(at int64) bool { return max(m.at, at)-min(m.at, at) <= alive }

// Meet remembers the metrics of a reading, unless the device would have more than so many within a day of it. It returns those
// that are too many, in order. at is in epoch milliseconds, by the device's clock; values are by metric.
func Meet[V any](s *Sender, at int64, values map[string]V, most int) (excess []string) {
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
		room := max(most-s.near(at), 0)
		excess = fresh[min(room, len(fresh)):]
		s.forget(at, most)
	}
	for name := range values {
		if _, not := slices.BinarySearch(excess, name); not {
			continue
		}
		m, known := s.metrics[name]
		if !known {
			m.told = never
		}
		m.at = at
		s.metrics[name] = m
	}
	return excess
}

// near counts the metrics that were sent within a day of a time.
func (s *Sender) near(at int64) (n int) {
	for _, m := range s.metrics {
		if m.near(at) {
			n++
		}
	}
	return n
}

// leastKept is how many metrics are remembered at least, so that a low limit does not make the memory short.
const leastKept = 256

// forget bounds what is remembered: metrics that were sent long before or after a time go first.
func (s *Sender) forget(at int64, most int) {
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

// Untell forgets that the status was told of a reading, since the reading was not stored: it was there already, or its store is away.
func Untell[V any](s *Sender, values map[string]V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = time.Time{}
	for name := range values {
		if m, known := s.metrics[name]; known {
			s.metrics[name] = metric{m.at, never}
		}
	}
}

// Quiet reports whether the device's status need not follow a reading, of a time by the device's clock in epoch milliseconds: it
// was told of the device within a time, and of each of the reading's metrics within that time of the reading's own. A
// reading that is sent again is as loud as at first, for it may be that it was not stored. A reading of the past tells nothing of
// the device itself.
func Quiet[V any](s *Sender, at int64, values map[string]V, now time.Time, every time.Duration, past bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	quiet := past || now.Sub(s.told) < every && !now.Before(s.told) // the clock may have been set back
	for name := range values {
		told := s.metrics[name].told
		quiet = quiet && at != told && at-every.Milliseconds() < told
	}
	if quiet {
		return true
	}
	if !past {
		s.told = now
	}
	for name := range values {
		m := s.metrics[name]
		s.metrics[name] = metric{at, max(m.told, at)}
	}
	return false
}
