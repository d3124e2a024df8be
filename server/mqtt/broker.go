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
	// Login returns what takes the messages of a client, or an error, and then the client is refused; by ErrUnavailable it is
	// told that it is not to blame. It must be quick.
	Login func(context.Context, Login) (Taker, error)

	TLS *tls.Config // nil: not encrypted

	MaxClients     int // connected at once; default 20,000
	MaxPacketBytes int // of one packet; default 256 KiB
	MaxInFlight    int // messages of one client that wait to be decided, at most; default 128
	// Drain is how long messages that wait may take to be decided when the broker is told to stop; default 10 s.
	Drain  time.Duration
	Logger *slog.Logger // default: nothing is logged
}

// ErrUnavailable is what a Login returns when it cannot say who a client is for the moment: the client shall try again.
var ErrUnavailable = errors.New("mqtt: nobody can log in at the moment")

const (
	maxKeepAlive = time.Hour        // a client that is silent for longer, and half as long again, is gone
	connectFor   = 10 * time.Second // from the connection to its CONNECT
	takeFor      = 30 * time.Second // how long deciding on messages may take
	writeBytes   = 512
	readBytes    = 1024
)

func (o *Options) fill() error {
	if o.Login == nil {
		return errors.New("mqtt: Options.Login is required")
	}
	if o.MaxClients < 0 || o.MaxPacketBytes < 0 || o.MaxInFlight < 0 || o.MaxInFlight > 1<<15 || o.Drain < 0 {
		return errors.New("mqtt: an option is out of its range")
	}
	setDefault(&o.MaxClients, 20_000)
	setDefault(&o.MaxPacketBytes, 256<<10)
	setDefault(&o.MaxInFlight, 128)
	setDefault(&o.Drain, 10*time.Second)
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

// A Broker takes messages in. Make one with New and run it once.
type Broker struct {
	o      Options
	server *mochi.Server

	ctx    context.Context // of takers
	cancel context.CancelFunc
	done   chan struct{} // closed when no more messages are taken

	mu       sync.Mutex
	stopping bool
	taking   sync.WaitGroup // clients whose messages are being decided

	counts counts
}

// counts are what Figures tells.
type counts struct {
	verdicts [Forbidden + 1]atomic.Int64
	refused  atomic.Int64
	clients  atomic.Int64
	waiting  atomic.Int64
}

// Figures tells what a broker has done since it was made.
type Figures struct {
	Clients                                   int64 // connected now
	MaxClients                                int64 // that may be
	Waiting                                   int64 // messages that are being decided, or wait for it
	Refused                                   int64 // logins
	Taken, Malformed, Busy, Forbidden, Failed int64 // messages
}

// New makes a Broker.
func New(o Options) (*Broker, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	b := &Broker{o: o, done: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	limits := mochi.NewDefaultServerCapabilities()
	limits.MaximumClients = int64(o.MaxClients)
	limits.MaximumPacketSize = uint32(o.MaxPacketBytes)
	limits.MaximumQos = 1
	limits.ReceiveMaximum, limits.MaximumInflight = uint16(o.MaxInFlight), uint16(o.MaxInFlight)
	limits.MaximumClientWritesPending = 1 // nothing is sent but acknowledgements, which do not wait there
	limits.MaximumSessionExpiryInterval = 0
	limits.TopicAliasMaximum, limits.RetainAvailable = 0, 0
	limits.SharedSubAvailable, limits.WildcardSubAvailable, limits.SubIDAvailable = 0, 0, 0
	limits.Compatibilities.NoInheritedPropertiesOnAck = true
	b.server = mochi.New(&mochi.Options{
		Capabilities: limits, ClientNetWriteBufferSize: writeBytes, ClientNetReadBufferSize: readBytes,
		SysTopicResendInterval: int64(time.Hour / time.Second), // nobody can read them
		// The library's log quotes packets, which are what devices measure.
		Logger: slog.New(slog.DiscardHandler),
	})
	if err := b.server.AddHook(&hook{b: b}, nil); err != nil {
		return nil, fmt.Errorf("mqtt: %w", err)
	}
	return b, nil
}

// Run takes messages from a listener until ctx ends, and then decides on those that are there. It closes the listener.
func (b *Broker) Run(ctx context.Context, l net.Listener) error {
	defer b.cancel()
	w := &watched{Listener: l, failed: make(chan error, 1), conns: map[*conn]struct{}{}}
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

// partingFor is how long clients may take to hear that the broker stops.
const partingFor = 5 * time.Second

// hangUp tells clients that the broker stops, and closes the connections of those that do not listen.
func (b *Broker) hangUp(w *watched) error {
	late := time.AfterFunc(partingFor, w.closeAll)
	defer late.Stop()
	return b.server.Close()
}

// stop lets clients' messages be decided, for as long as Options.Drain says, and takes no more.
func (b *Broker) stop() {
	late := time.AfterFunc(b.o.Drain, b.cancel)
	defer late.Stop()
	b.mu.Lock()
	b.stopping = true
	b.mu.Unlock()
	close(b.done)
	b.taking.Wait()
}

// begin notes that a client's messages are going to be decided; not when the broker stops.
func (b *Broker) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stopping {
		b.taking.Add(1)
	}
	return !b.stopping
}

// Figures tells what the broker has done.
func (b *Broker) Figures() Figures {
	of := func(v Verdict) int64 { return b.counts.verdicts[v].Load() }
	return Figures{
		Clients: b.counts.clients.Load(), MaxClients: int64(b.o.MaxClients), Waiting: b.counts.waiting.Load(), Refused: b.counts.refused.Load(),
		Taken: of(Taken), Malformed: of(Malformed), Busy: of(Busy), Forbidden: of(Forbidden), Failed: of(Failed),
	}
}

// watched tells when its listener fails, knows its connections, and gives them little time to say what they want: the
// library gives them for ever.
type watched struct {
	net.Listener
	failed chan error

	mu    sync.Mutex
	conns map[*conn]struct{}
	over  bool // new connections are closed at once
}

// conn is a connection that its listener knows until it is closed.
type conn struct {
	net.Conn
	w *watched
}

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
		_ = c.Close() // whoever reads it hears of it
	}
}

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

// keep notes a connection; not one that is gone already, or comes too late.
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
