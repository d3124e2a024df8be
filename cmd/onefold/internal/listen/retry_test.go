package listen

import (
	"errors"
	"log/slog"
	"math"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
)

// failing is a listener that fails several times, then returns a connection, then fails forever.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left--; f.left == 0 {
		return &net.TCPConn{}, nil
	}
	return nil, &net.OpError{Op: "accept", Err: []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EPERM}[f.left&0xff%6]}
}

func (f *failing) Close() error { return nil }

// TestAcceptErrorsPass lets Accept fail in every possible way, and closes the listener while it
// fails.
func TestAcceptErrorsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRetryingListener(&failing{left: 20})
		if c, err := p.Accept(); c == nil || err != nil {
			t.Errorf("%v %v", c, err)
		}
		p = newRetryingListener(&failing{left: math.MaxInt})
		ended := make(chan error)
		go func() {
			_, err := p.Accept()
			ended <- err
		}()
		synctest.Wait()
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("when it was closed: %v", err)
		}
	})
}

// TestConnectionsAreBoundedByFiles asks for more connections than files may be open.
func TestConnectionsAreBoundedByFiles(t *testing.T) {
	limit, known := fileLimit()
	if !known {
		t.Skip("this system does not say how many files a process may have open; run it on Linux or macOS")
	}
	log := slog.New(slog.DiscardHandler)
	if n := Bounded(1, log); n != 1 {
		t.Errorf("1 connection: %d", n)
	}
	if n := Bounded(math.MaxInt, log); uint64(n) > limit/2 && n != 1 {
		t.Errorf("%d connections of %d files", n, limit)
	}
}
