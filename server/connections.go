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

// connections limits the number of open connections. When all are taken, a new connection replaces
// an idle one: the one that has been idle longest after a response, that has sent nothing since it
// was opened, or that does not finish its request. While none is idle, new connections wait, all
// but one in the system's queue.
type connections struct {
	net.Listener
	most int

	mu     sync.Mutex // guards the fields below and the phases of connections
	freed  *sync.Cond // a connection was closed or became replaceable, or the listener was closed
	open   int
	silent [phases]*list.List // of *connection without a request being served, by phase, longest first
	ended  bool
}

// phase is the state of a connection on which no request is being served.
type phase int

const (
	idle  phase = iota // after a response
	fresh              // since it was opened
	half               // a request has begun to arrive
	phases
)

// spared is how long a connection in a phase is protected from being replaced, so that requests
// that arrive in a burst or over a slow network are not lost. Idle connections are not protected: a
// browser repeats a request that it sent just as its idle connection was closed.
var spared = [phases]time.Duration{fresh: 100 * time.Millisecond, half: time.Second}

type connection struct {
	net.Conn
	of    *connections
	once  sync.Once
	err   error
	in    phase
	since time.Time
	place *list.Element // in connections.silent; nil while a request is served
	heard atomic.Bool   // something was read since the phase began
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

// count returns the number of open connections.
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

// takePlace waits for a free place and reports false if the listener was closed meanwhile.
func (c *connections) takePlace(own *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.most && !c.ended {
		victim, soon := c.victim(time.Now())
		switch {
		case victim != nil:
			c.remove(victim)
			c.mu.Unlock()
			_ = victim.Close() // no response is expected on it
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

// victim returns a connection to replace. If there is none, soon is when one may become
// replaceable, or 0 if only a change can help.
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
				c.add(first, phase(p)) // a request is waiting to be read
			}
		}
	}
	return nil, soon
}

// add appends a connection to the list of its phase.
func (c *connections) add(conn *connection, p phase) {
	c.remove(conn)
	conn.in, conn.since = p, time.Now()
	conn.heard.Store(false)
	conn.place = c.silent[p].PushBack(conn)
}

// remove takes a connection off the lists of replaceable connections.
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

// Close frees the connection's place.
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

// observe is http.Server's ConnState hook: it tracks the state of connections.
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

// ofConnection is the context key of a request's connection.
type ofConnection struct{}

// remember is http.Server's ConnContext hook.
func (c *connections) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, ofConnection{}, conn)
}

// serving protects connections from being replaced while a request is served on them.
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
