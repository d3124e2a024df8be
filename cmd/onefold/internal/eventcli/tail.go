package eventcli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/internal/backoff"
)

type tailCommand struct {
	Where
	Aggregate string `arg:"" optional:"" help:"Aggregate, as TYPE/ID (default: all, in feed order)."`
	After     int64  `help:"Event number or feed position to start after; 0 starts with the first event, -1 with the next one appended." default:"-1"`
	Count     int    `help:"Number of events to print before exiting; 0 means no limit." default:"0"`
}

const (
	firstWait   = 250 * time.Millisecond
	longestWait = 10 * time.Second
)

// Run prints events as they arrive. If the connection breaks, it reconnects without missing an
// event.
func (c *tailCommand) Run(ctx context.Context, env *Env) error {
	if c.Server == "" {
		return errors.New("no_server: only one process can open a directory: tail a server with --server and --key")
	}
	r, err := newRemote(c.Server, c.Key)
	if err != nil {
		return err
	}
	path, where, print := root+"/tail", root+"/feed/head", feedPrinter(env)
	if c.Aggregate != "" {
		id, err := parseID(c.Aggregate)
		if err != nil {
			return err
		}
		path, where, print = pathOf(id)+"/tail", pathOf(id), streamPrinter(env)
	}
	if c.After < 0 { // resolve "now" once, so that a reconnect misses nothing
		var h struct{ Version, Position int64 }
		if err := r.Ask(ctx, http.MethodGet, where, nil, &h); err != nil && logimport.Code(err) != "no_such_aggregate" {
			return err
		}
		c.After = h.Version + h.Position
	}
	return c.follow(ctx, r, path, print)
}

// follow reads the stream, and reconnects after each end.
func (c *tailCommand) follow(ctx context.Context, r *remote, path string, print func([]byte) error) error {
	read, wait := 0, firstWait
	for {
		err := r.tail(ctx, path+"?after="+strconv.FormatInt(c.After, 10), func(at int64, kind string, data []byte) error {
			if at > 0 {
				c.After = at
			}
			if wait = firstWait; kind != "event" {
				return nil
			}
			if err := print(data); err != nil {
				return err
			}
			if read++; read == c.Count {
				return errEnough
			}
			return nil
		})
		switch {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return err
		}
		if err := backoff.For(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, longestWait)
	}
}

var errEnough = errors.New("enough")

// streamPrinter prints the events of one stream.
func streamPrinter(env *Env) func(data []byte) error {
	print := printer(env.Out, env.JSON)
	return func(data []byte) error {
		var e eventjson.Event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("server: invalid data: %w", err)
		}
		return print(&e)
	}
}

// feedPrinter prints the events of all aggregates, with their aggregates.
func feedPrinter(env *Env) func(data []byte) error {
	print := printer(env.Out, false)
	return func(data []byte) error {
		if env.JSON {
			_, err := fmt.Fprintf(env.Out, "%s\n", data)
			return err
		}
		var e struct {
			AggregateType, AggregateID string
			eventjson.Event
		}
		err := json.Unmarshal(data, &e)
		if err != nil {
			return fmt.Errorf("server: invalid data: %w", err)
		}
		if _, err = fmt.Fprintln(env.Out, terminal.Printable(e.AggregateType+"/"+e.AggregateID)); err == nil {
			err = print(&e.Event)
		}
		return err
	}
}

// tail reads a stream until the connection breaks, which is not an error.
func (r *remote) tail(ctx context.Context, path string, take func(at int64, kind string, data []byte) error) error {
	body, err := r.Watch(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(readStream(body, take), body.Close())
}

// readStream parses server-sent events. at is the number in an event's id, if it has one.
func readStream(body io.Reader, take func(at int64, kind string, data []byte) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, longestLine)
	at, kind := int64(0), ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return fmt.Errorf("server: invalid event ID: %w", err)
			}
			at = n
		case "event":
			kind = value
		case "data":
			if err := take(at, kind, []byte(value)); err != nil {
				return err
			}
		case "": // an empty line ends an event
			at, kind = 0, ""
		}
	}
	return nil
}
