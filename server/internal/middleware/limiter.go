package middleware

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxAddresses is the maximum number of addresses that a Limiter remembers.
const maxAddresses = 50_000

// Limiter limits the rate of each address. When it knows too many addresses, it forgets the older
// half: memory stays bounded in a flood from many addresses, and a client that stays below its rate
// loses nothing.
type Limiter struct {
	rate  rate.Limit
	burst int
	clock func() time.Time

	mu      sync.Mutex // guards the fields below
	current map[string]*rate.Limiter
	older   map[string]*rate.Limiter // the previous generation: when current is full, it replaces older
}

// NewLimiter returns a limiter that allows each address perSecond events per second and burst at
// once.
func NewLimiter(perSecond float64, burst int, clock func() time.Time) *Limiter {
	return &Limiter{rate: rate.Limit(perSecond), burst: burst, clock: clock, current: map[string]*rate.Limiter{}}
}

// Allow charges n events to the address's budget, or returns how long to wait until it has that
// many.
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
