package eventcli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
)

type appendCommand struct {
	Where
	Aggregate string `arg:"" help:"Aggregate, as TYPE/ID."`
	Type      string `help:"Type of a single event, such as OrderPlaced." placeholder:"TYPE"`
	Payload   string `help:"Payload of the event, in JSON." placeholder:"JSON"`
	File      string `help:"File of JSON lines, one event each, with type, data, occurredAt, actor and more, as in the API; - is standard input." placeholder:"FILE"`
	Expect    string `help:"Expected version of the stream: a number, none, exists or any." default:"any"`
	CommitID  string `help:"Idempotency key: repeating an append with the same key changes nothing (default: a new one)."`
}

// Run appends the events.
func (c *appendCommand) Run(ctx context.Context, env *Env) error {
	id, err := parseID(c.Aggregate)
	if err != nil {
		return err
	}
	a := &appending{CommitID: c.CommitID, Expected: c.Expect}
	if n, err := strconv.ParseInt(c.Expect, 10, 64); err == nil && n >= 0 {
		a.Expected = n
	} else if c.Expect != "none" && c.Expect != "exists" && c.Expect != "any" {
		return fmt.Errorf("invalid: --expect must be a version, none, exists or any, not %q", c.Expect)
	}
	if a.Events, err = c.events(env.In); err != nil {
		return err
	}
	if a.CommitID == "" && len(a.Events) < eventstore.MaxEvents { // so that the append can be retried if its response is lost
		a.CommitID = rand.Text()
	}
	return c.opened(ctx, env, env.Make, func(t target) error {
		done, err := t.append(ctx, id, a)
		if err != nil {
			return err
		}
		if env.JSON {
			return terminal.JSON(env.Out, done)
		}
		what := "Appended"
		if done.Again {
			what = "Had already appended"
		}
		_, err = fmt.Fprintf(env.Out, "%s events %d to %d; %s has version %d.\n", what, done.First, done.Version, terminal.Printable(id.String()), done.Version)
		return err
	})
}

// events returns the events of the file, or the event of the flags.
func (c *appendCommand) events(stdin io.Reader) ([]eventjson.New, error) {
	switch {
	case (c.Type == "") == (c.File == ""):
		return nil, errors.New("invalid: give one event with --type and --payload, or many with --file")
	case c.File == "-":
		return readEvents(stdin)
	case c.File != "":
		f, err := os.Open(c.File)
		if err != nil {
			return nil, fmt.Errorf("no_such_file: %w", err)
		}
		events, err := readEvents(f)
		return events, errors.Join(err, f.Close())
	}
	if c.Payload != "" && !json.Valid([]byte(c.Payload)) {
		return nil, errors.New("invalid: --payload is not JSON; quote a string as JSON too: --payload '\"text\"'")
	}
	return []eventjson.New{{Type: c.Type, Content: eventjson.Content{Data: json.RawMessage(c.Payload)}}}, nil
}

const longestLine = 1 << 20 // line of an event file; an event has at most 400 KB

// readEvents reads JSON lines. More than an append can hold is an error.
func readEvents(r io.Reader) (events []eventjson.New, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var e eventjson.New
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("invalid: line %d: %w", n, err)
		}
		if events = append(events, e); len(events) > eventstore.MaxEvents {
			return nil, fmt.Errorf("too_large: an append, which is all or none, has at most %d events", eventstore.MaxEvents)
		}
	}
	return events, lines.Err()
}

type closeCommand struct {
	Where
	Aggregate string `arg:"" help:"Aggregate, as TYPE/ID."`
	Yes       bool   `required:"" help:"Confirm closing the stream, which cannot be undone."`
}

// Run closes a stream.
func (c *closeCommand) Run(ctx context.Context, env *Env) error {
	id, err := parseID(c.Aggregate)
	if err != nil {
		return err
	}
	return c.opened(ctx, env, env.Open, func(t target) error {
		if err := t.end(ctx, id); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.Out, "Closed %s.\n", terminal.Printable(id.String()))
		return err
	})
}
