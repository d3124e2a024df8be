package eventcli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/archive"
)

type archiveCommand struct {
	Dir       string   `arg:"" help:"Directory of the archive, created if it does not exist."`
	Type      []string `help:"Aggregate type to archive. Repeat or separate by commas (default: all)." placeholder:"TYPE"`
	NoParquet bool     `help:"Write JSON lines only."`
	Verify    bool     `help:"Read the whole archive afterwards and verify its checksums."`
}

// archived is the JSON result.
type archived struct {
	Aggregates int64   `json:"aggregates"` // aggregates examined
	Events     int64   `json:"events"`     // events archived
	Segments   int     `json:"segments"`   // segments written
	Verified   bool    `json:"verified"`
	Seconds    float64 `json:"seconds"`
}

// Run archives events that are not in the archive yet.
func (c *archiveCommand) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		start := time.Now()
		store, types, err := c.open(ctx, s)
		if err != nil {
			return err
		}
		a, err := archive.Open(c.Dir)
		if err != nil {
			return err
		}
		p, err := a.Write(ctx, store, archive.OfTypes(ctx, store, types...), archive.WriteOptions{NoParquet: c.NoParquet})
		if err == nil && c.Verify {
			err = a.Verify(ctx)
		}
		if err != nil {
			return err
		}
		done := archived{p.Aggregates, p.Events, p.Segments, c.Verify, time.Since(start).Seconds()}
		if env.JSON {
			return json.NewEncoder(env.Out).Encode(done)
		}
		_, err = fmt.Fprintf(env.Out, "Archived new events: %s of %s, in %s of %s.\n", terminal.Count(done.Events, "event"), terminal.Count(done.Aggregates, "aggregate"), terminal.Count(done.Segments, "segment"), c.Dir)
		if err == nil && c.Verify {
			_, err = fmt.Fprintln(env.Out, "The archive matches its checksums.")
		}
		return err
	})
}

// open opens the store and returns the types to archive.
func (c *archiveCommand) open(ctx context.Context, s *cmdenv.Store) (*eventstore.Store, []string, error) {
	if info, err := os.Stat(c.Dir); err == nil && !info.IsDir() {
		return nil, nil, fmt.Errorf("invalid: %s is a file; an archive is a directory", c.Dir)
	}
	store, err := eventstore.New(s.Table, eventstore.Options{})
	if err != nil {
		return nil, nil, err
	}
	if err := s.Worker.Drain(ctx); err != nil {
		return nil, nil, err
	}
	all, err := store.ListTypes(ctx)
	if err != nil {
		return nil, nil, err
	}
	var types []string
	for _, t := range all {
		if len(c.Type) == 0 || slices.Contains(c.Type, t.Type) {
			types = append(types, t.Type)
		}
	}
	for _, t := range c.Type {
		if !slices.Contains(types, t) {
			return nil, nil, fmt.Errorf("no_such_type: there are no aggregates of type %.60q; `onefold events types` lists all types", t)
		}
	}
	return store, types, nil
}
