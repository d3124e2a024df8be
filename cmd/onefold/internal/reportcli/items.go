package reportcli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/table"
)

// noun is a kind of item that sites have and people add, list and delete: the last word of its commands.
type noun string

// The nouns.
const (
	channelNoun noun = "channel"
	reportNoun  noun = "report"
	alertNoun   noun = "alert"
)

// missing explains that a site has no such item. Other errors are returned as they are.
func (n noun) missing(site, id string, err error) error {
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return fmt.Errorf("no_such_%[1]s: there is no %[1]s %[2]q; `onefold site %[1]s list %[3]s` lists all", n, id, site)
	}
	return err
}

// unused returns an error if an ID is in use, because adding the item would replace the existing one.
func unused[T, K any](ctx context.Context, s *cmdenv.Store, n noun, e *table.Entity[T, K], k K, site, id string) error {
	if _, err := e.Get(ctx, s.Table, k); id != "" && err == nil {
		return fmt.Errorf("%[1]s_exists: %[1]s %[2]q already exists; `onefold site %[1]s list %[3]s` shows it", n, id, site)
	}
	return nil // PutX reports whatever else is wrong
}

// listing lists items of a site.
type listing[T, O any] struct {
	site   string
	all    func(context.Context, *table.Table) ([]T, error)
	output func(*T) O // for --json
	empty  string     // what to say if there are none
	header string     // columns, separated by tabs
	row    func(*T) string
}

func (l *listing[T, O]) run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		if _, err := analytics.GetSite(ctx, s.Table, l.site); err != nil {
			return cmdenv.SiteError(l.site, err)
		}
		all, err := l.all(ctx, s.Table)
		if err != nil {
			return err
		}
		if env.JSON {
			out := make([]O, len(all))
			for i := range all {
				out[i] = l.output(&all[i])
			}
			return terminal.JSON(env.Out, out)
		}
		if len(all) == 0 {
			_, err := fmt.Fprintln(env.Out, l.empty)
			return err
		}
		w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, l.header)
		for i := range all {
			fmt.Fprintln(w, l.row(&all[i]))
		}
		return w.Flush()
	})
}

// remove deletes an item.
func (n noun) remove(ctx context.Context, env *cmdenv.Env, site, id string, del func(*table.Table) error) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		if err := del(s.Table); err != nil {
			return n.missing(site, id, err)
		}
		_, err := fmt.Fprintf(env.Out, "Deleted %s %s.\n", n, id)
		return err
	})
}
