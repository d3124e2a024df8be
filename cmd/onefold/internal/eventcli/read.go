package eventcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/eventstore/eventjson"
)

type readCommand struct {
	Where
	Aggregate string `arg:"" help:"Aggregate, as TYPE/ID."`
	From      int64  `help:"Number of the first event."`
	To        int64  `help:"Number of the last event, inclusive."`
	AsOf      string `help:"Only events recorded up to this time, such as 2026-05-12T14:00:00Z." placeholder:"TIME"`
	Backwards bool   `help:"Print the last event first."`
	Limit     int    `help:"Maximum number of events; 0 means all." default:"0"`
}

// Run prints events, with --json one per line.
func (c *readCommand) Run(ctx context.Context, env *Env) error {
	id, err := parseID(c.Aggregate)
	if err != nil {
		return err
	}
	in := reading{from: c.From, to: c.To, backwards: c.Backwards}
	if c.AsOf != "" {
		if in.asOf, err = time.Parse(time.RFC3339Nano, c.AsOf); err != nil {
			return fmt.Errorf("invalid: cannot parse --as-of %.60q; write a time like 2026-05-12T14:00:00Z", c.AsOf)
		}
	}
	return c.opened(ctx, env, env.Open, func(t target) error {
		print, read := printer(env.Out, env.JSON), 0
		for e, err := range t.read(ctx, id, in) {
			if err == nil {
				err = print(&e)
			}
			if err != nil {
				return err
			}
			if read++; read == c.Limit {
				break
			}
		}
		return nil
	})
}

// printer returns a function that prints an event as a JSON line, or for people in at most two
// lines.
func printer(out io.Writer, asJSON bool) func(*eventjson.Event) error {
	if asJSON {
		lines := json.NewEncoder(out)
		lines.SetEscapeHTML(false)
		return func(e *eventjson.Event) error { return lines.Encode(e) }
	}
	return func(e *eventjson.Event) error {
		by := ""
		if e.Actor != "" {
			by = "  by " + terminal.Printable(e.Actor)
		}
		said := string(e.Data)
		if len(e.Binary) > 0 {
			said = fmt.Sprintf("(%d bytes)", len(e.Binary))
		}
		_, err := fmt.Fprintf(out, "%6d  %s  %s%s\n        %s\n", e.Seq, e.OccurredAt.UTC().Format("2006-01-02 15:04:05.000"), terminal.Printable(e.Type), by, terminal.Clean(said))
		return err
	}
}

type headCommand struct {
	Where
	Aggregate string `arg:"" help:"Aggregate, as TYPE/ID."`
}

// Run prints the head of the stream.
func (c *headCommand) Run(ctx context.Context, env *Env) error {
	id, err := parseID(c.Aggregate)
	if err != nil {
		return err
	}
	return c.opened(ctx, env, env.Open, func(t target) error {
		h, err := t.head(ctx, id)
		if err != nil {
			return err
		}
		if env.JSON {
			return terminal.JSON(env.Out, h)
		}
		w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
		fmt.Fprintf(w, "aggregate\t%s\nversion\t%d\nstate\t%s\ncreated\t%s\nlast append\t%s\n", terminal.Printable(id.String()), h.Version, stateOf(&h), h.Created.Format(time.RFC3339), h.Updated.Format(time.RFC3339))
		return w.Flush()
	})
}

func stateOf(h *head) string {
	if h.State == "" {
		return "open"
	}
	return string(h.State)
}

type typesCommand struct{ Where }

// Run lists the types.
func (c *typesCommand) Run(ctx context.Context, env *Env) error {
	types := []typeCounts{}
	err := c.opened(ctx, env, env.Open, func(t target) (err error) {
		types, err = t.types(ctx)
		return err
	})
	if err != nil && !errors.Is(err, env.NoTable) {
		return err
	}
	return terminal.List[typeCounts]{
		JSON: env.JSON, Empty: "No events yet. Append one with: onefold events append order/1 --type OrderPlaced --payload '{\"total\":10}'",
		Columns: "TYPE\tAGGREGATES\tEVENTS\tCLOSED\tLAST APPEND",
		Row: func(c *typeCounts) []any {
			return []any{terminal.Printable(c.Type), terminal.Grouped(c.Aggregates), terminal.Grouped(c.Events), terminal.Grouped(c.Closed), c.LastAt.Format("2006-01-02 15:04")}
		},
	}.Print(env.Out, types)
}

type aggregatesCommand struct {
	Where
	Type  string `arg:"" help:"Aggregate type."`
	Limit int    `help:"Maximum number of aggregates; 0 means all." default:"0"`
}

// Run lists aggregates, with --json one per line.
func (c *aggregatesCommand) Run(ctx context.Context, env *Env) error {
	return c.opened(ctx, env, env.Open, func(t target) error {
		w, lines, read := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0), json.NewEncoder(env.Out), 0
		if !env.JSON {
			fmt.Fprintln(w, "ID\tVERSION\tSTATE\tLAST APPEND\tEVENT TYPES")
		}
		for h, err := range t.aggregates(ctx, c.Type) {
			switch {
			case err != nil:
				return err
			case env.JSON:
				err = lines.Encode(h)
			default:
				_, err = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", terminal.Printable(h.ID), h.Version, stateOf(&h), h.Updated.Format("2006-01-02 15:04"), terminal.Printable(strings.Join(h.Last, ", ")))
			}
			if err != nil {
				return err
			}
			if read++; read == c.Limit {
				break
			}
		}
		return w.Flush()
	})
}

type stateCommand struct {
	Where
	Aggregate string `arg:"" help:"Aggregate, as TYPE/ID."`
	At        int64  `help:"Version: the number of the last event to apply (default: the latest)."`
	Since     int64  `help:"Print only the difference from this earlier version."`
}

// Run prints a state, or the difference of two states.
func (c *stateCommand) Run(ctx context.Context, env *Env) error {
	id, err := parseID(c.Aggregate)
	if err != nil {
		return err
	}
	if c.At < 0 || c.Since < 0 {
		return errors.New("invalid: a version must be 1 or more")
	}
	return c.opened(ctx, env, env.Open, func(t target) error {
		s, err := t.state(ctx, id, c.At)
		if err != nil {
			return err
		}
		if c.Since == 0 {
			return terminal.JSON(env.Out, s)
		}
		before, err := t.state(ctx, id, c.Since)
		if err != nil {
			return err
		}
		return printDifference(env.Out, before.Fields, s.Fields)
	})
}

// printDifference prints the differences field by field, ordered by name.
func printDifference(out io.Writer, before, after map[string]any) error {
	was, is := map[string]string{}, map[string]string{}
	flatten(was, "", before)
	flatten(is, "", after)
	names := slices.Sorted(maps.Keys(was))
	for name := range is {
		if _, had := was[name]; !had {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		old, had := was[name]
		now, has := is[name]
		var err error
		switch {
		case had && has && old != now:
			_, err = fmt.Fprintf(out, "~ %s: %s -> %s\n", terminal.Clean(name), terminal.Clean(old), terminal.Clean(now))
		case had && !has:
			_, err = fmt.Fprintf(out, "- %s: %s\n", terminal.Clean(name), terminal.Clean(old))
		case !had:
			_, err = fmt.Fprintf(out, "+ %s: %s\n", terminal.Clean(name), terminal.Clean(now))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flatten adds the fields of v to into, as paths and values.
func flatten(into map[string]string, path string, v any) {
	fields, ok := v.(map[string]any)
	if !ok || len(fields) == 0 && path != "" {
		text, err := json.Marshal(v)
		if err != nil { // v was decoded from JSON
			text = []byte(reflect.TypeOf(v).String())
		}
		into[path] = string(text)
		return
	}
	for name, value := range fields {
		flatten(into, strings.TrimPrefix(path+"."+name, "."), value)
	}
}
