package server

import (
	"container/list"
	"errors"
	"net"
	"net/http"
	"sync"
)

// connections bounds how many there are. When all are taken, whoever comes gets the place of the connection that has
// been idle for longest; while none is idle they wait, all but one in the system's queue.
type connections struct {
	net.Listener
	most int

	mu    sync.Mutex
	freed *sync.Cond // one was closed, or became idle, or the listener ended
	open  int
	idle  *list.List // of *connection, the longest idle first
	ended bool
}

type connection struct {
	net.Conn
	of     *connections
	once   sync.Once
	err    error
	asIdle *list.Element // of connections.idle; nil: it works
}

func bounded(l net.Listener, most int) *connections {
	c := &connections{Listener: l, most: most, idle: list.New()}
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
	if !c.takePlace() {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	return &connection{Conn: conn, of: c}, nil
}

// takePlace waits for a place, and reports false when the listener ended meanwhile.
func (c *connections) takePlace() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.most && !c.ended {
		if first := c.idle.Front(); first != nil {
			victim := c.idle.Remove(first).(*connection)
			victim.asIdle = nil
			c.mu.Unlock()
			_ = victim.Close() // nobody waits for an answer on it
			c.mu.Lock()
			continue
		}
		c.freed.Wait()
	}
	if c.ended {
		return false
	}
	c.open++
	return true
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
		c.of.working(c)
		c.of.freed.Signal()
	})
	return c.err
}

// working takes a connection off those that are idle.
func (c *connections) working(conn *connection) {
	if conn.asIdle != nil {
		c.idle.Remove(conn.asIdle)
		conn.asIdle = nil
	}
}

// observe is http.Server's ConnState: it tells which connections are idle.
func (c *connections) observe(conn net.Conn, state http.ConnState) {
	own, ok := conn.(*connection)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working(own)
	if state == http.StateIdle {
		own.asIdle = c.idle.PushBack(own)
		c.freed.Signal()
	}
}
