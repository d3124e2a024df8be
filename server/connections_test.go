package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// serveBounded serves a handler with a limited number of connections.
func serveBounded(t *testing.T, most int, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	web := httptest.NewUnstartedServer(handler)
	listener := bounded(web.Listener, most)
	web.Listener, web.Config.Handler = listener, listener.serving(handler)
	web.Config.ConnState, web.Config.ConnContext = listener.observe, listener.remember
	web.Start()
	t.Cleanup(web.Close)
	return web
}

// ask sends a request over a connection of its own.
func ask(url string, client *http.Client) error {
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// TestConnectionsAreBounded has many slow clients: never more than two are served at once, and
// finally all are.
func TestConnectionsAreBounded(t *testing.T) {
	const most, clients = 2, 20
	var now, peak atomic.Int64
	together := make(chan struct{})
	web := serveBounded(t, most, func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
		}
		select {
		case together <- struct{}{}: // two requests meet here, so both places are taken at once
		case <-together:
		}
		now.Add(-1)
	})
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			if err := ask(web.URL, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if peak.Load() != most {
		t.Errorf("%d were served at once, want %d", peak.Load(), most)
	}
}

// TestIdleConnectionsAreEvicted has clients who keep their connections: new clients are still served.
func TestIdleConnectionsAreEvicted(t *testing.T) {
	web := serveBounded(t, 2, func(http.ResponseWriter, *http.Request) {})
	for round := range 3 {
		for i := range 6 {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			if err := ask(web.URL, &http.Client{Transport: transport}); err != nil {
				t.Fatalf("round %d, client %d: %v", round, i, err)
			}
		}
	}
}

// TestSilentConnectionsAreEvicted has clients who take all places and send nothing, nothing more
// after a response, or half a header: new clients are still served, and none of those who arrive
// together is cut off for another. Time is the test's, because on a busy machine a client may need
// longer to begin its request than a new connection is protected.
func TestSilentConnectionsAreEvicted(t *testing.T) {
	for _, sends := range []string{"", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX-More: "} {
		synctest.Test(t, func(t *testing.T) {
			const most, rounds = 8, 20
			network := make(pipes)
			limited := bounded(network, most)
			web := &http.Server{
				Handler:   limited.serving(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})),
				ConnState: limited.observe, ConnContext: limited.remember,
			}
			var wait sync.WaitGroup
			wait.Go(func() {
				if err := web.Serve(limited); !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
			})
			for range 3 * most {
				conn, err := network.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				wait.Go(func() { io.Copy(io.Discard, conn) })   //nolint:errcheck // it ends when the server closes the connection
				wait.Go(func() { io.WriteString(conn, sends) }) //nolint:errcheck // it fails if the connection is replaced
			}
			var served sync.WaitGroup
			for range rounds {
				served.Go(func() {
					if err := ask("http://server", &http.Client{Transport: &http.Transport{DialContext: network.dial, DisableKeepAlives: true}}); err != nil {
						t.Errorf("beside connections that send %q: %v", sends, err)
					}
				})
			}
			served.Wait()
			close(network)
			synctest.Wait()
			if err := web.Close(); err != nil {
				t.Error(err)
			}
			wait.Wait()
		})
	}
}

func TestWaitForConnectionTimesOut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	full := bounded(l, 1)
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	defer dial().Close()
	first, err := full.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	defer dial().Close()
	ended := make(chan error, 1)
	go func() {
		_, err := full.Accept()
		ended <- err
	}()
	if err := full.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// pipes is a listener for in-memory connections, which follow the fake time of a test.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, conn := net.Pipe()
	p <- conn
	return client, nil
}

// TestSlowClientsAreCutOff sends half a header, half a body and nothing more after a response, and
// waits to be disconnected.
func TestSlowClientsAreCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		sends   string
		answers bool
		after   time.Duration
	}{
		"half a header": {"GET / HTTP/1.1\r\nHost: x\r\nX-More: ", false, 5 * time.Second},
		"half a body":   {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf", true, 30 * time.Second},
		"idle":          {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Server{o: Options{Logger: slog.New(slog.DiscardHandler)}}
				listener := make(pipes)
				web := s.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, err := io.Copy(io.Discard, r.Body)
					fmt.Fprint(w, err)
				}))
				served := make(chan error, 1)
				go func() { served <- web.Serve(listener) }()
				client, conn := net.Pipe()
				listener <- conn
				began := time.Now()
				if _, err := io.WriteString(client, c.sends); err != nil {
					t.Error(err)
				}
				in := bufio.NewReader(client)
				if c.answers {
					answer, err := http.ReadResponse(in, nil)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, answer.Body); err != nil {
						t.Error(err)
					}
				}
				if _, err := io.Copy(io.Discard, in); err != nil {
					t.Error(err)
				}
				if passed := time.Since(began); passed < c.after || passed > c.after+time.Second {
					t.Errorf("cut off after %v, want %v", passed, c.after)
				}
				close(listener)
				if err := <-served; !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				if err := web.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
