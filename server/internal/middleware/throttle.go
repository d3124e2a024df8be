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

// How attempts to guess a password are slowed down. An account is locked for a short while only, because anyone can
// make it so; a network for longer.
const (
	freeForAccount, freeForNetwork = 5, 20
	lockAccount, lockNetwork       = time.Minute, 15 * time.Minute
	forgetAttempts                 = time.Hour
)

// guestRate and guestBurst are how many questions a second, and at once, one network may ask without an account or key. A
// page of a public view asks about fifteen.
const guestRate, guestBurst = 10, 200

// throttle counts attempts by key, and makes each wait twice as long as the one before once the free ones are used up.
// When it knows too many keys it forgets the older half.
type throttle struct {
	clock func() time.Time

	mu             sync.Mutex
	current, older map[string]*attempts
}

type attempts struct {
	count int
	last  time.Time
	until time.Time // no attempt before
}

func newThrottle(clock func() time.Time) *throttle {
	return &throttle{clock: clock, current: map[string]*attempts{}}
}

// tryBrowser is try for a browser that has logged in to the account before: it has attempts of its own, which nobody else can use up.
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

// forgiveBrowser takes the attempts of a browser back when one was right.
func (t *throttle) forgiveBrowser(browser string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*t.of("browser "+browser, t.clock()) = attempts{}
}

// try counts an attempt before it is made, so that many at once are not free, or says how long to wait.
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

// slowed reports whether an account's attempts have to wait.
func (t *throttle) slowed(account string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	return t.of("account "+account, now).until.After(now)
}

// forgive takes the attempts on an account back when one was right, and one of the network'd.
func (t *throttle) forgive(account, network string) {
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

// SlowDown refuses an attempt at a password when there were too many of late. browser is that of a known browser, which is not
// slowed down by what others do; else "".
func (d *Door) SlowDown(who *Caller, account, browser string) error {
	var wait time.Duration
	if browser != "" {
		wait = d.logins.tryBrowser(browser)
	} else {
		wait = d.logins.try(throttleKey(account), who.Network)
	}
	if wait <= 0 {
		return nil
	}
	seconds := strconv.Itoa(int(wait/time.Second) + 1)
	return huma.ErrorWithHeaders(Problem(http.StatusTooManyRequests, "too_many_attempts", "Too many attempts. Try again after "+seconds+" s."),
		http.Header{"Retry-After": {seconds}})
}

// Slowed reports whether attempts on an account have to wait for the moment, whoever makes them.
func (d *Door) Slowed(account string) bool { return d.logins.slowed(throttleKey(account)) }

// Forgive takes the attempts at a password back when one was right. A known browser takes back its own: what others tried meanwhile
// still counts.
func (d *Door) Forgive(who *Caller, account, browser string) {
	if browser != "" {
		d.logins.forgiveBrowser(browser)
		return
	}
	d.logins.forgive(throttleKey(account), who.Network)
}

// throttleKey is what attempts on an account are counted under: no address is kept.
func throttleKey(account string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(account))))
	return string(sum[:])
}
