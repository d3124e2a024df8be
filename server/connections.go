package server

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// connections bounds how many there are. When all are taken, whoever comes gets the place of one that asks for nothing: of the
// one that has been idle for longest after an answer, or has sent nothing since it was made, or does not finish what it began to ask.
// While there is none they wait, all but one in the system's queue.
type connections struct {
	net.Listener
	most int

	mu     sync.Mutex
	freed  *sync.Cond // one was closed, or may be taken the place of, or the listener ended
	open   int
	silent [phases]*list.List // of *connection that no request is answered on, by phase, the longest first
	ended  bool
}

// phase is what a connection does while nobody answers a request on it.
type phase int

const (
	idle  phase = iota // after an answer
	fresh              // since it was made
	half               // a request has begun to come
	phases
)

// spared is how long a connection keeps its place in a phase: a request that comes at once, or from a slow network, is not lost
// when many come together. A browser repeats one that is sent just when its idle connection is closed.
var spared = [phases]time.Duration{fresh: 100 * time.Millisecond, half: time.Second}

type connection struct {
	net.Conn
	of    *connections
	once  sync.Once
	err   error
	in    phase
	since time.Time
	place *list.Element // of connections.silent; nil: a request is answered
	heard atomic.Bool   // something was read since it is in its phase
}

// Read implements net.Conn.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Store(true)
	}
	return n, err
}

func bounded(l net.Listener, most int) *connections {
	c := &connections{Listener: l, most: most}
	for p := range c.silent {
		c.silent[p] = list.New()
	}
	c.freed = sync.NewCond(&c.mu)
	return c
}

// count returns how many connections there are.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// Accept implements net.Listener.
func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	own := &connection{Conn: conn, of: c}
	if !c.takePlace(own) {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	return own, nil
}

// takePlace waits for a place, and reports false when the listener ended meanwhile.
func (c *connections) takePlace(own *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.most && !c.ended {
		victim, soon := c.victim(time.Now())
		switch {
		case victim != nil:
			c.remove(victim)
			c.mu.Unlock()
			_ = victim.Close() // nobody waits for an answer on it
			c.mu.Lock()
		case soon > 0:
			timer := time.AfterFunc(soon, func() { c.mu.Lock(); c.freed.Signal(); c.mu.Unlock() })
			c.freed.Wait()
			timer.Stop()
		default:
			c.freed.Wait()
		}
	}
	if c.ended {
		return false
	}
	c.open++
	c.add(own, fresh)
	return true
}

// victim is a connection whose place may be taken, or after how long there may be one; 0: when something changes.
func (c *connections) victim(now time.Time) (_ *connection, soon time.Duration) {
	for p, all := range c.silent {
		for range all.Len() {
			first := all.Front().Value.(*connection)
			if left := spared[p] - now.Sub(first.since); left > 0 {
				if soon == 0 || left < soon {
					soon = left
				}
				break
			}
			switch {
			case phase(p) == half || !first.heard.Load() && !readable(first.Conn):
				return first, 0
			case first.heard.Load():
				c.add(first, half)
			default:
				c.add(first, phase(p)) // a request waits until somebody reads it
			}
		}
	}
	return nil, soon
}

// add puts a connection behind those that are in a phase.
func (c *connections) add(conn *connection, p phase) {
	c.remove(conn)
	conn.in, conn.since = p, time.Now()
	conn.heard.Store(false)
	conn.place = c.silent[p].PushBack(conn)
}

// remove takes a connection off those that no request is answered on.
func (c *connections) remove(conn *connection) {
	if conn.place != nil {
		c.silent[conn.in].Remove(conn.place)
		conn.place = nil
	}
}

// Close implements net.Listener.
func (c *connections) Close() error {
	c.mu.Lock()
	c.ended = true
	c.freed.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

// Close frees the place.
func (c *connection) Close() error {
	c.once.Do(func() {
		c.err = c.Conn.Close()
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.open--
		c.of.remove(c)
		c.of.freed.Signal()
	})
	return c.err
}

// observe is http.Server's ConnState: it tells what a connection does.
func (c *connections) observe(conn net.Conn, state http.ConnState) {
	own, ok := conn.(*connection)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateIdle:
		c.add(own, idle)
		c.freed.Signal()
	case http.StateHijacked, http.StateClosed:
		c.remove(own)
	}
}

// ofConnection is the key of a request's connection.
type ofConnection struct{}

// remember is http.Server's ConnContext.
func (c *connections) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, ofConnection{}, conn)
}

// serving keeps the places of connections on which requests are answered.
func (c *connections) serving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if own, ok := r.Context().Value(ofConnection{}).(*connection); ok {
			c.mu.Lock()
			c.remove(own)
			c.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}
