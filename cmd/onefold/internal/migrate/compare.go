package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/table"
)

// soon excludes items from the comparison that expire within this time, because one store may
// delete them before the other.
const soon = time.Hour

// Compared is the result of a comparison.
type Compared struct {
	Items    int64              `json:"items"`
	Entities map[string]Sum     `json:"entities"` // by entity, in the source
	Differ   map[string]SumPair `json:"differ,omitempty"`
}

// SumPair holds an entity's sums in the two stores.
type SumPair struct {
	Source Sum `json:"source"`
	Target Sum `json:"target"`
}

// describe describes the differences for an error.
func (c *Compared) describe() string {
	var lines []string
	for _, entity := range slices.Sorted(maps.Keys(c.Differ)) {
		both := c.Differ[entity]
		lines = append(lines, fmt.Sprintf("%s: %s in the source, %s in the target", terminal.Printable(entity), both.Source.String(), both.Target.String()))
	}
	return strings.Join(lines, "; ")
}

// compare reads both stores and compares the items of each entity: all that are copied and do not
// expire within an hour.
func (m *Move) compare(ctx context.Context) (Compared, error) {
	until := m.o.Clock().Add(soon).Unix()
	group, within := errgroup.WithContext(ctx)
	var source, target map[string]Sum
	var done counter
	group.Go(func() (err error) { source, err = m.sums(within, m.from, until, &done); return err })
	group.Go(func() (err error) { target, err = m.sums(within, m.to, until, &done); return err })
	if err := group.Wait(); err != nil {
		return Compared{}, err
	}
	c := Compared{Entities: source, Differ: map[string]SumPair{}}
	for entity, have := range source {
		c.Items += have.Items
		if have != target[entity] {
			c.Differ[entity] = SumPair{have, target[entity]}
		}
	}
	for entity, have := range target {
		if _, ok := source[entity]; !ok {
			c.Differ[entity] = SumPair{Sum{}, have}
		}
	}
	return c, nil
}

// counter counts the compared items of both stores.
type counter struct {
	mu sync.Mutex
	n  int64
}

func (m *Move) sums(ctx context.Context, s Store, until int64, done *counter) (map[string]Sum, error) {
	all := map[string]Sum{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for i := range m.o.Segments {
		group.Go(func() error {
			own := map[string]Sum{}
			in := scanInput(s.Table, i, m.o.Segments)
			for {
				out, err := m.scanPage(ctx, s, in)
				if err != nil {
					return err
				}
				sumPage(own, out.Items, until)
				done.mu.Lock()
				done.n += int64(len(out.Items))
				m.o.Progress(Progress{Phase: "comparing", Items: done.n})
				done.mu.Unlock()
				if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for entity, sum := range own {
				sum.merge(all[entity])
				all[entity] = sum
			}
			return nil
		})
	}
	return all, group.Wait()
}

func sumPage(sums map[string]Sum, items []table.Item, until int64) {
	for _, it := range items {
		if !copied(it) || expires(it, until) {
			continue
		}
		entity := text(it[table.AttrEntity])
		sum := sums[entity]
		sum.add(unmarked(it))
		sums[entity] = sum
	}
}
