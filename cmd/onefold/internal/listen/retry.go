package listen

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Bounded returns the maximum number of connections of a server: wanted, but at most half of the
// files that this process may open. The other half is for the table and everything else.
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

// Delays before Accept is retried after an error. They double.
const (
	firstPause = 5 * time.Millisecond
	mostPause  = time.Second
)

// retryingListener is a listener whose only error is that it was closed. Other errors of Accept, such as too
// many open files, are temporary.
type retryingListener struct {
	net.Listener
	once   sync.Once
	closed chan struct{}
}

func newRetryingListener(l net.Listener) *retryingListener {
	return &retryingListener{Listener: l, closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (p *retryingListener) Accept() (net.Conn, error) {
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
func (p *retryingListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Listener.Close()
}
