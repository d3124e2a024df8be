// Package sender remembers how a device sends: how fast, which metrics, and when its status was told of each. It is a part of
// telemetry, and used by nobody else.
package sender

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Sender is what is remembered of one device. The zero value knows nothing; Limit and Learn come before the rest. It is safe
// for concurrent use.
type Sender struct {
	mu      sync.Mutex
	limiter *rate.Limiter
	told    time.Time // when the status was told anything
	// metrics that were sent, and when the status was told of each last, by the device's clock in epoch milliseconds; nil: not
	// learned yet.
	metrics map[string]int64
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
	if s.metrics == nil {
		s.metrics = metrics
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

// Meet remembers the metrics of a reading, unless the device would have more than so many; then it says how many. values are
// by metric.
func Meet[V any](s *Sender, values map[string]V, most int) (would int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := 0
	for name := range values {
		if _, known := s.metrics[name]; !known {
			fresh++
		}
	}
	if would = len(s.metrics) + fresh; fresh > 0 && would > most {
		return would, false
	}
	for name := range values {
		if _, known := s.metrics[name]; !known {
			s.metrics[name] = never
		}
	}
	return would, true
}

// Untell forgets that the status was told of a reading, since the reading was not stored: it was there already, or its store is away.
func Untell[V any](s *Sender, values map[string]V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = time.Time{}
	for name := range values {
		if _, known := s.metrics[name]; known {
			s.metrics[name] = never
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
		told := s.metrics[name]
		quiet = quiet && at != told && at-every.Milliseconds() < told
	}
	if quiet {
		return true
	}
	if !past {
		s.told = now
	}
	for name := range values {
		s.metrics[name] = max(s.metrics[name], at)
	}
	return false
}
