package eventcli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/internal/pause"
)

type tailCommand struct {
	Where
	Aggregate string `arg:"" help:"The aggregate, as TYPE/ID."`
	After     int64  `help:"Begin after that event; 0: with the first. Default: with what is appended from now on." default:"-1"`
	Count     int    `help:"End after so many events; 0: never." default:"0"`
}

const (
	firstWait   = 250 * time.Millisecond
	longestWait = 10 * time.Second
)

// Run prints events as they come, and comes back when the connection breaks off, without missing one.
func (c *tailCommand) Run(ctx context.Context, env *Env) error {
	id, err := parseID(c.Aggregate)
	if err != nil {
		return err
	}
	if c.Server == "" {
		return errors.New("no_server: a directory is open in one process only: tail what goes through a server, with --server and --key")
	}
	r, err := newRemote(c.Server, c.Key)
	if err != nil {
		return err
	}
	if c.After < 0 { // so that a first try that fails misses nothing
		h, err := r.head(ctx, id)
		if err != nil && !strings.HasPrefix(err.Error(), "no_such_aggregate") {
			return err
		}
		c.After = h.Version
	}
	print, read, wait := printer(env.Out, env.JSON), 0, firstWait
	for {
		err := r.tail(ctx, id, c.After, func(e *eventjson.Event) error {
			c.After, wait = e.Seq, firstWait
			if err := print(e); err != nil {
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
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, longestWait)
	}
}

var errEnough = errors.New("enough")

// tail reads a stream until it breaks off, which is no error.
func (r *remote) tail(ctx context.Context, id eventstore.ID, after int64, take func(*eventjson.Event) error) error {
	body, err := r.Watch(ctx, pathOf(id)+"/tail?after="+strconv.FormatInt(after, 10))
	if err != nil {
		return err
	}
	return errors.Join(readStream(body, take), body.Close())
}

// readStream reads server-sent events; those of no kind but "event" are passed over.
func readStream(body io.Reader, take func(*eventjson.Event) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, longestLine)
	kind := ""
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			kind = name
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || kind != "event" {
			continue
		}
		var e eventjson.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("server: what it sends is not understood: %w", err)
		}
		if err := take(&e); err != nil {
			return err
		}
	}
	return nil
}
