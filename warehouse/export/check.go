package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/onefold/onefold/warehouse"
)

// Comparison is the result of comparing one site, fleet or aggregate type in the warehouse with the
// table. It counts facts: a reading is one fact, whatever number of metrics it has.
type Comparison struct {
	Dataset warehouse.Dataset `json:"dataset"`
	Key     string            `json:"key"`
	Table   int64             `json:"table"`             // facts in the table
	Both    int64             `json:"both"`              // facts that the warehouse has too
	Missing int64             `json:"missing,omitempty"` // facts that the warehouse lacks
	Extra   int64             `json:"extra,omitempty"`   // facts that only the warehouse has, although they have not expired in the table
	Expired int64             `json:"expired,omitempty"` // facts that only the warehouse has because they expired in the table
	Dates   []string          `json:"dates,omitempty"`   // days with missing or extra facts
}

// OK reports whether the warehouse has every fact of the table and no deleted facts.
func (c *Comparison) OK() bool { return c.Missing == 0 && c.Extra == 0 }

// Check first catches up. Then it compares the warehouse with the table, fact by fact, and verifies
// that files are as they were written. It changes nothing else. Facts written meanwhile are
// compared again. Events of aggregates that were truncated in the table count neither as extra nor
// as expired. Errors: warehouse.ErrDamaged and warehouse.ErrNotFound, which name the files; those
// of the table and the objects.
func (x *Exporter) Check(ctx context.Context) (found []Comparison, err error) {
	intact := map[string]bool{}
	for range checkRounds {
		exported := x.CatchUp(ctx)
		if exported != nil && !isDamage(exported) {
			return nil, exported
		}
		if err := cmp.Or(x.verify(ctx, intact), exported); err != nil {
			return nil, err
		}
		if found, err = x.compare(ctx); err != nil {
			return nil, fmt.Errorf("export: check: %w", err)
		}
		if !slices.ContainsFunc(found, func(c Comparison) bool { return !c.OK() }) {
			break
		}
	}
	return found, nil
}

func isDamage(err error) bool {
	return errors.Is(err, warehouse.ErrDamaged) || errors.Is(err, warehouse.ErrNotFound)
}

// maxDamaged is the largest number of damaged files that are named.
const maxDamaged = 20

// verify compares the files not yet known to be intact with their entries in the log.
func (x *Exporter) verify(ctx context.Context, intact map[string]bool) error {
	var damaged []error
	for _, f := range x.w.Files() {
		if intact[f.Path] {
			continue
		}
		err := x.w.Verify(ctx, f)
		if errors.Is(err, warehouse.ErrNotFound) { // another exporter may have replaced it
			if err := x.w.Refresh(ctx); err != nil {
				return fmt.Errorf("export: check: %w", err)
			}
			if !slices.ContainsFunc(x.w.In(f.Partition), func(o warehouse.File) bool { return o.Path == f.Path }) {
				continue
			}
		}
		switch {
		case err == nil:
			intact[f.Path] = true
		case !isDamage(err):
			return fmt.Errorf("export: check: %w", err)
		default:
			damaged = append(damaged, err)
		}
		if len(damaged) == maxDamaged {
			break
		}
	}
	return errors.Join(damaged...)
}

// checkRounds is how often the comparison is made if there are differences. Facts written between
// the export and the comparison look like differences, but are not.
const checkRounds = 3

// tally adds up the results.
type tally struct {
	by    map[owner]*Comparison
	dates map[owner]map[string]bool
}

func (t *tally) of(p warehouse.Partition) *Comparison {
	k := owner{p.Dataset, p.Key}
	if t.by[k] == nil {
		t.by[k] = &Comparison{Dataset: p.Dataset, Key: p.Key}
		t.dates[k] = map[string]bool{}
	}
	return t.by[k]
}

func (t *tally) differs(p warehouse.Partition) { t.dates[owner{p.Dataset, p.Key}][p.Date] = true }

func (x *Exporter) compare(ctx context.Context) ([]Comparison, error) {
	x.plan = x.newPlan()
	defer func() { x.plan = nil }()
	t := &tally{by: map[owner]*Comparison{}, dates: map[owner]map[string]bool{}}
	for r := (warehouse.Repair{}); ; {
		c, err := x.plan.chunk(ctx, r)
		if err == nil {
			err = x.count(ctx, c, t)
		}
		if err != nil {
			return nil, err
		}
		if r = c.next; r.Dataset == "" {
			break
		}
	}
	found := make([]Comparison, 0, len(t.by))
	for k, c := range t.by {
		c.Dates = slices.Sorted(maps.Keys(t.dates[k]))
		found = append(found, *c)
	}
	slices.SortFunc(found, func(a, b Comparison) int { return cmp.Or(cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.Key, b.Key)) })
	return found, nil
}

// count compares a chunk.
func (x *Exporter) count(ctx context.Context, c *chunk, t *tally) error {
	for p, facts := range c.facts {
		one := t.of(p)
		one.Table += int64(len(facts))
		if err := x.find(ctx, p, facts); err != nil {
			return err
		}
		for _, o := range facts {
			if o.known {
				one.Both++
			} else {
				one.Missing++
				t.differs(p)
			}
		}
	}
	if c.covers == nil {
		return nil
	}
	return x.extras(ctx, c, func(k rowKey, expired bool) {
		if one := t.of(k.part); expired {
			one.Expired++
		} else {
			one.Extra++
			t.differs(k.part)
		}
	})
}

// find marks the facts of a partition that the warehouse has.
func (x *Exporter) find(ctx context.Context, p warehouse.Partition, facts map[warehouse.Key]*op) error {
	for _, f := range x.w.In(p) {
		for row, err := range x.w.Keys(ctx, f, f.Min, f.Max) {
			if err != nil {
				return err
			}
			k := row.Key()
			if k.Sub = ""; facts[k] != nil {
				facts[k].known = true
			}
		}
	}
	return nil
}
