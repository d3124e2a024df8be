package mqtt_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/onefold/onefold/server/mqtt"
)

// pipes is a listener whose connections have no buffers: a write waits until the client reads.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// send writes a packet of MQTT 3.1.1.
func send(t *testing.T, c net.Conn, b ...byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

// A client that sends but never reads is disconnected, and does not keep the broker from stopping.
func TestClientsThatNeverReadAreDisconnected(t *testing.T) {
	for _, stopFirst := range []bool{false, true} {
		deciding := make(chan struct{}, 10)
		b, err := mqtt.New(mqtt.Options{
			WriteTimeout: 100 * time.Millisecond,
			Login: func(context.Context, mqtt.Login) (mqtt.Taker, error) {
				return func(_ context.Context, ms []mqtt.Message) []mqtt.Verdict {
					deciding <- struct{}{}
					return slices.Repeat([]mqtt.Verdict{mqtt.Taken}, len(ms))
				}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx, l) }()
		client, server := net.Pipe()
		l.conns <- server
		send(t, client, 0x10, 18, 0, 4, 'M', 'Q', 'T', 'T', 4, 0xc2, 0, 60, 0, 0, 0, 1, 'u', 0, 1, 'p')
		ack := make([]byte, 4)
		if _, err := client.Read(ack); err != nil || ack[0]>>4 != packets.Connack || ack[3] != 0 {
			t.Fatalf("CONNACK %v, %v", ack, err)
		}
		send(t, client, 0x32, 6, 0, 1, 't', 0, 1, 'x') // PUBLISH with QoS 1
		<-deciding
		if stopFirst {
			stop()
		}
		for err := client.SetWriteDeadline(time.Now().Add(time.Minute)); !stopFirst && !errors.Is(err, io.ErrClosedPipe); {
			if err != nil {
				t.Fatalf("the client stays connected: %v", err)
			}
			_, err = client.Write([]byte{0xc0, 0}) // PINGREQ
		}
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the broker does not stop")
		}
		_ = client.Close()
	}
}
