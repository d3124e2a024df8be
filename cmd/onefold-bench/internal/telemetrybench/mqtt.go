package telemetrybench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

// inFlight is the maximum number of unacknowledged messages on a connection.
const inFlight = 32

// client is the connection of a device.
type client struct {
	net.Conn
	in    *bufio.Reader
	out   bytes.Buffer
	topic string
}

// protocol is version 3.1.1, which devices use.
const protocol = 4

// login connects a device.
func login(address string, device int, token string) (*client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &client{Conn: conn, in: bufio.NewReaderSize(conn, 16), topic: "devices/" + deviceID(device) + "/readings"}
	hello := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connect}, ProtocolVersion: protocol, Connect: packets.ConnectParams{
		ProtocolName: []byte("MQTT"), Clean: true, Keepalive: 600, ClientIdentifier: deviceID(device),
		UsernameFlag: true, PasswordFlag: true, Username: []byte(deviceID(device)), Password: []byte(token),
	}}
	err = hello.ConnectEncode(&c.out)
	if err == nil {
		_, err = c.out.WriteTo(c)
	}
	if err == nil {
		err = c.expect([]byte{packets.Connack << 4, 2, 0, 0})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("log %s in: %w", deviceID(device), err), c.Close())
	}
	return c, nil
}

// expect reads a packet of four bytes.
func (c *client) expect(want []byte) error {
	have := make([]byte, 0, 4)
	for range want {
		b, err := c.in.ReadByte()
		if err != nil {
			return fmt.Errorf("no response, %x: %w", have, err)
		}
		have = append(have, b)
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("response %x, not %x", have, want)
	}
	return nil
}

// publisher returns a sender of messages with one reading each, many in flight, that waits for all
// acknowledgements.
func publisher(c *client, g *gauge) sender {
	var text []byte
	return func(sent map[int]int) error {
		first := g.sent
		for id := range uint16(inFlight) {
			text = g.json(text[:0])
			message := packets.Packet{
				FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: 1}, ProtocolVersion: protocol,
				TopicName: c.topic, PacketID: id + 1, Payload: text,
			}
			if err := message.PublishEncode(&c.out); err != nil {
				return err
			}
		}
		if _, err := c.out.WriteTo(c); err != nil {
			return err
		}
		for id := range byte(inFlight) {
			if err := c.expect([]byte{packets.Puback << 4, 2, 0, id + 1}); err != nil {
				return err
			}
		}
		g.count(first, sent)
		return nil
	}
}

// publish measures devices that publish single readings with quality of service 1.
func (b *bench) publish(ctx context.Context, dir string, connections int) ([]workbench.Result, error) {
	var all []string
	err := b.prepared(ctx, dir, connections, func(ctx context.Context, s *workbench.Store) (err error) {
		all, err = tokens(ctx, s, connections)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b.served(ctx, dir, func(p *workbench.Process) ([]workbench.Result, error) {
		senders := make([]sender, connections)
		for i := range senders {
			c, err := login(p.MQTT, i, all[i])
			if err != nil {
				return nil, err
			}
			defer c.Close()
			senders[i] = publisher(c, newGauge(uint64(i), []int{i}))
		}
		pace, err := b.turns(ctx, p, senders)
		return []workbench.Result{
			{Name: fmt.Sprintf("MQTT QoS 1, %d connections, %d messages in flight each, durable and folded", connections, inFlight), Unit: "readings/s", Value: pace.Rate, Goal: 20_000},
			{Name: fmt.Sprintf("CPU time of a reading over MQTT, %d connections", connections), Unit: "µs", Value: pace.Micros},
		}, err
	})
}

// otherFiles bounds the open files of a process besides its clients' connections.
const otherFiles = 500

// affordable returns how many connections this process and the server may have, at most n. Go
// raises the limit on open files to the hard limit in both processes.
func affordable(n int) (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	if limit.Cur < limit.Max {
		limit.Cur = limit.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			return 0, fmt.Errorf("raise the limit of open files to %d: %w", limit.Max, err)
		}
	}
	if limit.Cur < otherFiles+1 {
		return 0, fmt.Errorf("%d files may be open, but at least %d are needed", limit.Cur, otherFiles+1)
	}
	return int(min(uint64(n), limit.Cur-otherFiles)), nil
}

// settling is the time for the server to become idle before its memory is measured.
const settling = 2 * time.Second

// idle measures the memory of a server with idle clients.
func (b *bench) idle(ctx context.Context, dir string) ([]workbench.Result, error) {
	n, err := affordable(b.o.Clients)
	if err != nil {
		return nil, err
	}
	if n < b.o.Clients {
		b.o.Progress(fmt.Sprintf("only %d clients, because of the limit on open files", n))
	}
	var all []string
	err = b.prepared(ctx, dir, n, func(ctx context.Context, s *workbench.Store) (err error) {
		all, err = tokens(ctx, s, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b.served(ctx, dir, func(p *workbench.Process) ([]workbench.Result, error) {
		time.Sleep(settling)
		before, err := p.ResidentMB()
		if err != nil {
			return nil, err
		}
		clients, err := loginAll(ctx, p.MQTT, all)
		defer func() {
			for _, c := range slices.DeleteFunc(clients, func(c *client) bool { return c == nil }) {
				_ = c.Close() // the measurement is over
			}
		}()
		if err != nil {
			return nil, err
		}
		time.Sleep(settling)
		after, err := p.ResidentMB()
		return []workbench.Result{
			{Name: fmt.Sprintf("resident memory with %d idle MQTT clients", n), Unit: "MB", Value: after},
			{Name: "of that, an idle MQTT client", Unit: "KB", Value: (after - before) * 1024 / float64(n)},
		}, err
	})
}

func loginAll(ctx context.Context, address string, tokens []string) ([]*client, error) {
	clients := make([]*client, len(tokens))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, token := range tokens {
		group.Go(func() (err error) {
			if err = ctx.Err(); err == nil {
				clients[i], err = login(address, i, token)
			}
			return err
		})
	}
	return clients, group.Wait()
}
