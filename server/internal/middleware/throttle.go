package middleware

import (
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Limits on password guessing. An account is locked only for a short time, because anyone can lock
// it; a network for longer.
const (
	freeForAccount, freeForNetwork = 5, 20
	lockAccount, lockNetwork       = time.Minute, 15 * time.Minute
	forgetAttempts                 = time.Hour
)

// anonymousRate and anonymousBurst limit the requests per second, and at once, of one network without an
// account or key. A page of a public view makes about fifteen.
const anonymousRate, anonymousBurst = 10, 200

// throttle counts attempts by key. Once the free attempts are used up, each wait is twice as long
// as the one before. When it knows too many keys, it forgets the older half.
type throttle struct {
	clock func() time.Time

	mu             sync.Mutex           // guards the fields below
	current, older map[string]*attempts // two generations: when current is full, it replaces older
}

type attempts struct {
	count int
	last  time.Time
	until time.Time // next attempt not before
}

func newThrottle(clock func() time.Time) *throttle {
	return &throttle{clock: clock, current: map[string]*attempts{}}
}

// tryBrowser is like try for a browser that has logged in to the account before. It has its own
// attempts, which others cannot use up.
func (t *throttle) tryBrowser(browser string) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	b := t.of("browser "+browser, now)
	if wait = b.until.Sub(now); wait > 0 {
		return wait
	}
	b.add(now, freeForAccount, lockAccount)
	return 0
}

// resetBrowser resets the attempts of a browser after a success.
func (t *throttle) resetBrowser(browser string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*t.of("browser "+browser, t.clock()) = attempts{}
}

// try counts an attempt before it is made, so that concurrent attempts are not free, or returns how
// long to wait.
func (t *throttle) try(account, network string) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	a, n := t.of("account "+account, now), t.of("network "+network, now)
	if wait = max(a.until.Sub(now), n.until.Sub(now)); wait > 0 {
		return wait
	}
	a.add(now, freeForAccount, lockAccount)
	n.add(now, freeForNetwork, lockNetwork)
	return 0
}

// limited reports whether an account's attempts have to wait.
func (t *throttle) limited(account string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	return t.of("account "+account, now).until.After(now)
}

// reset resets the attempts of an account after a success, and takes back one of the network's.
func (t *throttle) reset(account, network string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	*t.of("account "+account, now) = attempts{}
	if n := t.of("network "+network, now); n.count > 0 {
		n.count--
		n.until = time.Time{}
	}
}

func (t *throttle) of(key string, now time.Time) *attempts {
	a, ok := t.current[key]
	if !ok {
		if a = t.older[key]; a == nil {
			a = &attempts{}
		}
		if len(t.current) >= maxAddresses/2 {
			t.older, t.current = t.current, map[string]*attempts{}
		}
		t.current[key] = a
	}
	if now.Sub(a.last) > forgetAttempts {
		*a = attempts{}
	}
	return a
}

func (a *attempts) add(now time.Time, free int, most time.Duration) {
	a.count++
	a.last = now
	if over := a.count - free; over >= 0 {
		a.until = now.Add(min(most, time.Second<<min(over, 20)))
	}
}

// LimitAttempts rejects a password attempt if there were too many recently. browser identifies a known
// browser, which other callers' attempts do not delay; otherwise it is "".
func (s *Stack) LimitAttempts(who *Caller, account, browser string) error {
	var wait time.Duration
	if browser != "" {
		wait = s.logins.tryBrowser(browser)
	} else {
		wait = s.logins.try(throttleKey(account), who.Network)
	}
	if wait <= 0 {
		return nil
	}
	seconds := strconv.Itoa(int(wait/time.Second) + 1)
	return huma.ErrorWithHeaders(Problem(http.StatusTooManyRequests, "too_many_attempts", "Too many attempts. Try again after "+seconds+" s."),
		http.Header{"Retry-After": {seconds}})
}

// AttemptsLimited reports whether attempts on an account currently have to wait, whoever makes them.
func (s *Stack) AttemptsLimited(account string) bool { return s.logins.limited(throttleKey(account)) }

// ResetAttempts resets the attempts at a password after a success. A known browser resets only its own:
// attempts of others still count.
func (s *Stack) ResetAttempts(who *Caller, account, browser string) {
	if browser != "" {
		s.logins.resetBrowser(browser)
		return
	}
	s.logins.reset(throttleKey(account), who.Network)
}

// throttleKey returns the key under which attempts on an account are counted. It is a hash, so that
// no address is kept.
func throttleKey(account string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(account))))
	return string(sum[:])
}
