package middleware

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxAddresses bounds how many addresses are remembered for rate limiting.
const maxAddresses = 50_000

// Limiter gives each address its own rate. When it knows too many addresses it forgets the older half: a flood from
// many addresses costs memory that is bounded, and a patient client nothing.
type Limiter struct {
	rate  rate.Limit
	burst int
	clock func() time.Time

	mu      sync.Mutex
	current map[string]*rate.Limiter
	older   map[string]*rate.Limiter
}

// NewLimiter allows each address so many a second, and burst at once.
func NewLimiter(perSecond float64, burst int, clock func() time.Time) *Limiter {
	return &Limiter{rate: rate.Limit(perSecond), burst: burst, clock: clock, current: map[string]*rate.Limiter{}}
}

// Allow takes n events from the address's budget, or says how long to wait until it holds that many.
func (l *Limiter) Allow(address string, n int) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	bucket := l.bucket(address)
	reservation := bucket.ReserveN(now, n)
	if !reservation.OK() {
		return time.Duration(float64(n) / float64(l.rate) * float64(time.Second)), false
	}
	if wait := reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return wait, false
	}
	return 0, true
}

func (l *Limiter) bucket(address string) *rate.Limiter {
	if b, ok := l.current[address]; ok {
		return b
	}
	b, ok := l.older[address]
	if !ok {
		b = rate.NewLimiter(l.rate, l.burst)
	}
	if len(l.current) >= maxAddresses/2 {
		l.older, l.current = l.current, map[string]*rate.Limiter{}
	}
	l.current[address] = b
	return b
}
