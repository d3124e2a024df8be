package middleware

import "sync"

// Shares of the streams of one operation. A visitor of a public page needs one stream, an office
// behind one address a handful, and a person with many tabs a few more.
const (
	perNetwork = 10 // streams of the anonymous callers of one network
	perCaller  = 20 // streams of one person, key or token
)

// streams counts the open streams of one operation and shares them. Each caller has a limit, all
// anonymous callers together get at most half of the streams, and those of one place at most a
// quarter. So a crowd on one public page leaves streams for other public pages and for callers with
// a role.
type streams struct {
	most int

	mu     sync.Mutex     // guards the fields below
	total  int            // all open streams
	shares map[string]int // open streams by share; shares without streams have no entry
}

func newStreams(most int) *streams {
	return &streams{most: most, shares: map[string]int{}}
}

// share is a group of streams with a limit.
type share struct {
	name string
	most int
}

// sharesOf returns the shares that a caller's stream counts towards.
func (s *streams) sharesOf(who *Caller) []share {
	if who.May(ForIdentified, "") {
		return []share{{"caller " + who.Actor, perCaller}}
	}
	return []share{
		{"anonymous", s.most / 2},
		{"anonymous at " + who.Place, s.most / 4},
		{"network " + who.Network, perNetwork},
	}
}

// open opens a stream for a caller if the limits allow it. Call release once when the stream has
// ended.
func (s *streams) open(who *Caller) (release func(), ok bool) {
	of := s.sharesOf(who)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= s.most {
		return nil, false
	}
	for _, sh := range of {
		if s.shares[sh.name] >= sh.most {
			return nil, false
		}
	}
	s.add(of, 1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.add(of, -1)
	}, true
}

func (s *streams) add(of []share, n int) {
	s.total += n
	for _, sh := range of {
		if s.shares[sh.name] += n; s.shares[sh.name] == 0 {
			delete(s.shares, sh.name)
		}
	}
}
