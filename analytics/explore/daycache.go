package explore

import (
	"context"
	"sync"
	"time"
)

// dayCache is a cache of days, limited in bytes. It is safe for concurrent use. mu protects the fields
// below it.
type dayCache struct {
	most int // maximum bytes

	mu    sync.Mutex
	bytes int
	uses  int64
	days  map[dayKey]*cachedDay

	claims map[dayKey]chan struct{} // days being read; closed when done
}

// dayKey names a day of a site by its bounds, which depend on the time zone.
type dayKey struct {
	site     string
	from, to int64 // epoch seconds
	archived bool  // built from the archive's events
}

func keyOf(site string, from, to time.Time) dayKey {
	return dayKey{site: site, from: from.Unix(), to: to.Unix()}
}

type cachedDay struct {
	*columns
	version uint64
	used    int64 // value of the cache's uses at the last access
}

// claim waits until nobody else is reading a day. The caller must call release when it has read the
// day.
func (s *dayCache) claim(ctx context.Context, key dayKey) (release func(), err error) {
	for {
		s.mu.Lock()
		other, taken := s.claims[key]
		if !taken {
			mine := make(chan struct{})
			s.claims[key] = mine
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.claims, key)
				close(mine)
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// get returns a day with the given version, or nil. It evicts other versions.
func (s *dayCache) get(key dayKey, version uint64) *columns {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.days[key]
	if d == nil {
		return nil
	}
	if d.version != version {
		s.forget(key)
		return nil
	}
	s.uses++
	d.used = s.uses
	return d.columns
}

// put caches a day, and evicts the least recently used ones until there is room.
func (s *dayCache) put(key dayKey, version uint64, d *columns) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(key)
	if d.bytes > s.most {
		return
	}
	for s.bytes+d.bytes > s.most {
		var oldest dayKey
		least := s.uses + 1
		for k, d := range s.days {
			if d.used < least {
				oldest, least = k, d.used
			}
		}
		s.forget(oldest)
	}
	s.uses++
	s.days[key] = &cachedDay{d, version, s.uses}
	s.bytes += d.bytes
}

// forget evicts a day. mu must be held.
func (s *dayCache) forget(key dayKey) {
	if d := s.days[key]; d != nil {
		s.bytes -= d.bytes
		delete(s.days, key)
	}
}
