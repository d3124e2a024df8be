package explore

import (
	"sync"
	"time"
)

// shelf keeps days that were read, as many as have room. It is safe for concurrent use.
type shelf struct {
	most int // bytes

	mu    sync.Mutex
	bytes int
	uses  int64
	days  map[dayKey]*shelved
}

// dayKey names a day of a site by its bounds, which depend on the time zone.
type dayKey struct {
	site     string
	from, to int64 // epoch seconds
}

func keyOf(site string, from, to time.Time) dayKey { return dayKey{site, from.Unix(), to.Unix()} }

type shelved struct {
	*columns
	version uint64
	used    int64 // the shelf's uses when it was asked for last
}

// get finds a day as it was at a version; nil if it is not there. One of another version is forgotten.
func (s *shelf) get(key dayKey, version uint64) *columns {
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

// put keeps a day, and forgets those that were not asked for longest until there is room.
func (s *shelf) put(key dayKey, version uint64, d *columns) {
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
	s.days[key] = &shelved{d, version, s.uses}
	s.bytes += d.bytes
}

// forget lets go of a day. The caller has the lock.
func (s *shelf) forget(key dayKey) {
	if d := s.days[key]; d != nil {
		s.bytes -= d.bytes
		delete(s.days, key)
	}
}
