package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
)

// Options configure a Broker. Only Login is required.
type Options struct {
	// Login authenticates a client and returns the Taker of its messages. An error rejects the
	// client; ErrUnavailable tells it to try again later. Login must be quick.
	Login func(context.Context, Login) (Taker, error)

	// MaySubscribe reports whether clients may subscribe to a topic filter, to receive replies.
	// nil: to none.
	MaySubscribe func(filter string) bool

	TLS *tls.Config // nil: not encrypted

	MaxClients     int // concurrent connections; default 20,000
	MaxPacketBytes int // maximum size of a packet; default 256 KiB
	MaxInFlight    int // maximum number of undecided messages per client; default 128
	// Drain is how long a stopping broker waits for undecided messages; default 10 s.
	Drain time.Duration
	// WriteTimeout is how long a client may take to receive a packet before it is disconnected;
	// default 10 s.
	WriteTimeout time.Duration
	Logger       *slog.Logger // default: discards
}

// ErrUnavailable is returned by a Login that cannot authenticate anybody at the moment. Clients are
// told to try again.
var ErrUnavailable = errors.New("mqtt: nobody can log in at the moment")

const (
	maxKeepAlive = time.Hour        // a client that is silent for one and a half times this is disconnected
	connectFor   = 10 * time.Second // time limit from the connection to its CONNECT
	takeFor      = 30 * time.Second // time limit for deciding on messages
	writeBytes   = 512
	readBytes    = 1024
)

func (o *Options) fill() error {
	if o.Login == nil {
		return errors.New("mqtt: Options.Login is required")
	}
	if o.MaxClients < 0 || o.MaxPacketBytes < 0 || o.MaxInFlight < 0 || o.MaxInFlight > 1<<15 || o.Drain < 0 || o.WriteTimeout < 0 {
		return errors.New("mqtt: an option is out of its range")
	}
	setDefault(&o.MaxClients, 20_000)
	setDefault(&o.MaxPacketBytes, 256<<10)
	setDefault(&o.MaxInFlight, 128)
	setDefault(&o.Drain, 10*time.Second)
	setDefault(&o.WriteTimeout, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// A Broker ingests messages. Create one with New and run it once.
type Broker struct {
	o      Options
	server *mochi.Server

	ctx    context.Context // the context of Takers
	cancel context.CancelFunc
	done   chan struct{} // closed when no more messages are accepted

	mu       sync.Mutex // guards stopping, and deciding.Add against stop
	stopping bool
	deciding sync.WaitGroup // clients whose messages are being decided

	counts counts
}

// counts are the counters behind Figures.
type counts struct {
	verdicts [Forbidden + 1]atomic.Int64
	refused  atomic.Int64
	clients  atomic.Int64
	waiting  atomic.Int64
}

// Figures are the counters of a broker since its creation.
type Figures struct {
	Clients                                   int64 // current connections
	MaxClients                                int64 // maximum number of connections
	Waiting                                   int64 // messages being decided, or waiting for it
	Refused                                   int64 // rejected logins
	Taken, Malformed, Busy, Forbidden, Failed int64 // messages by verdict
}

// New creates a Broker. It fails if an option is missing or out of range.
func New(o Options) (*Broker, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	b := &Broker{o: o, done: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	limits := mochi.NewDefaultServerCapabilities()
	limits.MaximumClients = int64(o.MaxClients)
	limits.MaximumPacketSize = uint32(o.MaxPacketBytes)
	limits.ReceiveMaximum, limits.MaximumInflight = uint16(o.MaxInFlight), uint16(o.MaxInFlight)
	limits.MaximumClientWritesPending = 1 // only acknowledgements are sent, and they bypass this queue
	limits.MaximumSessionExpiryInterval = 0
	limits.TopicAliasMaximum, limits.RetainAvailable = 0, 0
	limits.SharedSubAvailable, limits.SubIDAvailable = 0, 0
	if o.MaySubscribe == nil {
		limits.WildcardSubAvailable = 0
	}
	limits.Compatibilities.NoInheritedPropertiesOnAck = true
	b.server = mochi.New(&mochi.Options{
		Capabilities: limits, ClientNetWriteBufferSize: writeBytes, ClientNetReadBufferSize: readBytes,
		SysTopicResendInterval: int64(time.Hour / time.Second), // rarely, because nobody can subscribe to them
		// The library's log quotes packets, which contain readings.
		Logger: slog.New(slog.DiscardHandler),
	})
	if err := b.server.AddHook(&hook{b: b}, nil); err != nil {
		return nil, fmt.Errorf("mqtt: %w", err)
	}
	return b, nil
}

// Run serves a listener until ctx ends, then decides on the messages that have arrived. It closes
// the listener. After ctx ends, it takes at most Options.Drain and Options.WriteTimeout and five
// seconds, even if clients do not read.
func (b *Broker) Run(ctx context.Context, l net.Listener) error {
	defer b.cancel()
	w := &watched{Listener: l, writeFor: b.o.WriteTimeout, failed: make(chan error, 1), conns: map[*conn]struct{}{}}
	var listener net.Listener = w
	if b.o.TLS != nil {
		listener = tls.NewListener(w, b.o.TLS)
	}
	err := b.server.AddListener(listeners.NewNet("mqtt", listener))
	if err == nil {
		err = b.server.Serve()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("mqtt: %w", err), l.Close())
	}
	select {
	case <-ctx.Done():
	case err = <-w.failed:
		err = fmt.Errorf("mqtt: accept: %w", err)
	}
	b.stop()
	return errors.Join(err, b.hangUp(w))
}

// partingFor is how long clients may take to receive the disconnect of a stopping broker.
const partingFor = 5 * time.Second

// hangUp tells clients that the broker stops, and closes connections that do not respond.
func (b *Broker) hangUp(w *watched) error {
	late := time.AfterFunc(partingFor, w.closeAll)
	defer late.Stop()
	return b.server.Close()
}

// stop stops accepting messages, and waits up to Options.Drain for those being decided.
func (b *Broker) stop() {
	late := time.AfterFunc(b.o.Drain, b.cancel)
	defer late.Stop()
	b.mu.Lock()
	b.stopping = true
	b.mu.Unlock()
	close(b.done)
	b.deciding.Wait()
}

// begin registers that a client's messages are being decided. It fails if the broker is stopping.
func (b *Broker) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stopping {
		b.deciding.Add(1)
	}
	return !b.stopping
}

// Figures returns the counters of the broker.
func (b *Broker) Figures() Figures {
	of := func(v Verdict) int64 { return b.counts.verdicts[v].Load() }
	return Figures{
		Clients: b.counts.clients.Load(), MaxClients: int64(b.o.MaxClients), Waiting: b.counts.waiting.Load(), Refused: b.counts.refused.Load(),
		Taken: of(Taken), Malformed: of(Malformed), Busy: of(Busy), Forbidden: of(Forbidden), Failed: of(Failed),
	}
}

// watched wraps a listener. It reports when the listener fails, tracks connections, and limits the
// time until a client's first packet and the time of each write, which the library does not.
type watched struct {
	net.Listener
	writeFor time.Duration
	failed   chan error

	mu    sync.Mutex // guards the fields below
	conns map[*conn]struct{}
	over  bool // new connections are closed at once
}

// conn is a connection that is tracked until it is closed.
type conn struct {
	net.Conn
	w *watched
}

// Write fails if the client does not receive p within the limit. Otherwise a client that never reads
// would block those who write to it, and a stopping broker waits for them.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.w.writeFor)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// SetDeadline limits reading only. The library extends the deadline by the client's keep-alive with
// each packet that it reads, also while a write is blocked.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c *conn) Close() error {
	c.w.mu.Lock()
	delete(c.w.conns, c)
	c.w.mu.Unlock()
	return c.Conn.Close()
}

func (w *watched) closeAll() {
	w.mu.Lock()
	all := slices.Collect(maps.Keys(w.conns))
	w.over = true
	w.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // its reader gets the error
	}
}

// Accept implements net.Listener. It reports on failed why the listener ended, unless it was
// closed.
func (w *watched) Accept() (net.Conn, error) {
	for {
		c, err := w.Listener.Accept()
		if err == nil {
			if c, ok := w.keep(c); ok {
				return c, nil
			}
			continue
		}
		if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
			continue
		}
		if !errors.Is(err, net.ErrClosed) {
			w.failed <- err
		}
		return nil, err
	}
}

// keep tracks a connection, unless it is closed already or the listener has stopped.
func (w *watched) keep(c net.Conn) (net.Conn, bool) {
	known := &conn{c, w}
	w.mu.Lock()
	over := w.over
	if !over {
		w.conns[known] = struct{}{}
	}
	w.mu.Unlock()
	if over || c.SetDeadline(time.Now().Add(connectFor)) != nil {
		_ = known.Close()
		return nil, false
	}
	return known, true
}
