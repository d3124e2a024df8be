package listen

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Bounded is how many connections a server may have at a time, so that half of the files which this process may have open
// are left to the table and the rest: at most those that were asked for.
func Bounded(wanted int, logger *slog.Logger) int {
	limit, known := fileLimit()
	most := max(int(min(limit/2, 1<<30)), 1)
	if !known || wanted <= most {
		return wanted
	}
	logger.Warn("fewer concurrent connections than --max-connections because of the limit on open files; raise the limit, see ulimit -n or LimitNOFILE",
		"connections", most, "wanted", wanted, "files", limit)
	return most
}

// Pauses before a connection is accepted again after that failed: doubling.
const (
	firstPause = 5 * time.Millisecond
	mostPause  = time.Second
)

// patient is a listener of which only its end is an error: whatever else keeps it from accepting connections, such as too many
// open files, passes.
type patient struct {
	net.Listener
	once   sync.Once
	closed chan struct{}
}

func newPatient(l net.Listener) *patient {
	return &patient{Listener: l, closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (p *patient) Accept() (net.Conn, error) {
	for wait := firstPause; ; wait = min(2*wait, mostPause) {
		c, err := p.Listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return c, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-p.closed:
			timer.Stop()
			return nil, net.ErrClosed
		case <-timer.C:
		}
	}
}

// Close implements net.Listener.
func (p *patient) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Listener.Close()
}
