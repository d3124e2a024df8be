package explore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Limits of reading ahead.
const (
	preparedEvents = 1_000_000
	prepareEvery   = time.Minute // per site, so that days with a steady stream of events are not read continuously
)

// preparations tracks recent calls of Prepare.
type preparations struct {
	mu   sync.Mutex
	busy bool
	last map[string]time.Time // by site, within the last minute
}

// begin reports whether a site may be prepared now. If so, the caller must call end.
func (p *preparations) begin(site string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s, at := range p.last {
		if now.Sub(at) >= prepareEvery {
			delete(p.last, s)
		}
	}
	if _, recent := p.last[site]; recent || p.busy {
		return false
	}
	if p.last == nil {
		p.last = map[string]time.Time{}
	}
	p.last[site], p.busy = now, true
	return true
}

func (p *preparations) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
}

// Prepare caches days that somebody is looking at, last first, so that a question about raw events
// need not wait. It reads completed days that are not cached, one after another, a million events
// at most. It does nothing if days are not cached, while another range is being prepared, or within
// a minute for the same site. Errors: ErrQuestion, table.ErrNotFound.
func (x *Explorer) Prepare(ctx context.Context, r Range) error {
	if x.watched == nil || !x.preparing.begin(r.Site, x.t.Now()) {
		return nil
	}
	defer x.preparing.end()
	s, err := x.scan(ctx, r, nil)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	s.left.Store(min(preparedEvents, int64(x.o.Events)))
	s.readers = 1
	today := s.cal.Day(x.t.Now())
	for _, day := range slices.Backward(s.days) {
		if day >= today {
			continue
		}
		if _, err := s.day(ctx, day); err != nil {
			if errors.Is(err, ErrTooMuch) {
				return nil
			}
			return err
		}
	}
	return nil
}
