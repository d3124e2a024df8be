package export

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/warehouse"
)

// atOnce is the number of partitions that are written at the same time.
const atOnce = 4

// changes are the files that a commit adds and removes.
type changes struct {
	mu     sync.Mutex
	add    []warehouse.File
	remove []string
}

func (c *changes) added(f warehouse.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add = append(c.add, f)
}

func (c *changes) removed(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove = append(c.remove, path)
}

// resolver turns the changes of facts into files.
type resolver struct {
	w    *warehouse.Warehouse
	out  *changes
	gone map[string]bool // files that no longer count, or that certainly have none of the facts

	// extra reports whether to remove a row that belongs to none of the facts. nil removes no such
	// rows.
	extra func(p warehouse.Partition, r warehouse.Row) bool
	whole bool // whether existing facts are compared, and replaced if they differ
}

// all resolves partitions, several at once.
func (r *resolver) all(ctx context.Context, parts []warehouse.Partition, facts func(warehouse.Partition) map[warehouse.Key]*op) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, p := range parts {
		group.Go(func() error { return r.partition(ctx, p, facts(p)) })
	}
	return group.Wait()
}

// partition writes the new facts of a partition. It rewrites the files that have replaced or
// removed rows.
func (r *resolver) partition(ctx context.Context, p warehouse.Partition, facts map[warehouse.Key]*op) error {
	times := make([]int64, 0, len(facts))
	for k := range facts {
		times = append(times, k.At)
	}
	slices.Sort(times)
	for _, f := range r.w.In(p) {
		from, to, ok := within(times, f)
		if r.extra != nil {
			from, to, ok = f.Min, f.Max, true
		}
		if !ok || r.gone[f.Path] {
			continue
		}
		if err := r.file(ctx, f, facts, from, to); err != nil {
			return err
		}
	}
	return r.write(ctx, p, facts)
}

// within returns the first and last of the sorted times that are in a file's range.
func within(times []int64, f warehouse.File) (from, to int64, ok bool) {
	first, _ := slices.BinarySearch(times, f.Min)
	last, _ := slices.BinarySearch(times, f.Max+1)
	if first == last {
		return 0, 0, false
	}
	return times[first], times[last-1], true
}

// file looks up the facts in a file, and rewrites the file without those that it should no longer
// have.
func (r *resolver) file(ctx context.Context, f warehouse.File, facts map[warehouse.Key]*op, from, to int64) error {
	out, err := r.outOf(ctx, f, facts, from, to)
	if err != nil || len(out) == 0 {
		return err
	}
	rest, ok, err := r.w.WriteFile(ctx, f.Partition, without(r.w.Rows(ctx, f), out))
	if err != nil {
		return err
	}
	if ok {
		r.out.added(rest)
	}
	r.out.removed(f.Path)
	return nil
}

// outOf returns the facts that a file should no longer have. It marks the facts that stay in the
// file as known.
func (r *resolver) outOf(ctx context.Context, f warehouse.File, facts map[warehouse.Key]*op, from, to int64) (map[warehouse.Key]bool, error) {
	rows := r.w.Keys(ctx, f, from, to)
	if r.whole {
		rows = r.w.Rows(ctx, f)
	}
	out, same := map[warehouse.Key]bool{}, map[warehouse.Key]int{}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		k := row.Key()
		k.Sub = ""
		switch o := facts[k]; {
		case o == nil:
			if r.extra != nil && r.extra(f.Partition, row) {
				out[k] = true
			}
		case o.replace || len(o.rows) == 0:
			out[k] = true
		case r.whole:
			if slices.ContainsFunc(o.rows, func(want warehouse.Row) bool { return reflect.DeepEqual(want, row) }) {
				same[k]++
			} else {
				same[k] = -len(o.rows)
			}
		default:
			o.known = true
		}
	}
	for k, n := range same {
		if facts[k].known = n == len(facts[k].rows); !facts[k].known {
			out[k] = true
		}
	}
	return out, nil
}

// without yields the rows of other facts.
func without(rows iter.Seq2[warehouse.Row, error], out map[warehouse.Key]bool) iter.Seq2[warehouse.Row, error] {
	return func(yield func(warehouse.Row, error) bool) {
		for row, err := range rows {
			if err == nil {
				k := row.Key()
				if k.Sub = ""; out[k] {
					continue
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// write writes the rows of facts that do not exist yet.
func (r *resolver) write(ctx context.Context, p warehouse.Partition, facts map[warehouse.Key]*op) error {
	var rows []warehouse.Row
	for _, o := range facts {
		if !o.known {
			rows = append(rows, o.rows...)
		}
	}
	slices.SortFunc(rows, func(a, b warehouse.Row) int { return a.Key().Compare(b.Key()) })
	f, ok, err := r.w.WriteFile(ctx, p, warehouse.Sorted(rows))
	if err == nil && ok {
		r.out.added(f)
	}
	return err
}
