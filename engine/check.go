package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/inspect"
)

type (
	// Finding is a problem found by Check. Programs may rely on the values of Kind.
	Finding = inspect.Finding
	// CheckSummary counts what Check has read.
	CheckSummary = inspect.Summary
)

// Check reads all rows of the database, as of the moment of the call, and calls report for each
// inconsistency in items, index entries, expiry rows, streams, tokens and descriptors. Damaged
// files are reported too. Streams are compared with the items for the 1,048,576 most recently
// changed items of each open shard.
//
// Check may run while the database is in use. It needs about one pass over all rows, a lookup for
// each index entry, and a Scrub. It returns an error only if reading failed altogether, or ctx
// ended.
func (db *DB) Check(ctx context.Context, report func(Finding)) (_ CheckSummary, err error) {
	ctx, done, err := db.operate(ctx)
	if err != nil {
		return CheckSummary{}, err
	}
	defer done()
	before := db.counted()
	snap := db.store.NewSnapshot()
	defer func() { err = errors.Join(err, snap.Close()) }()
	var damaged []string
	sum, counts, err := inspect.Check(ctx, sourceOf(snap), func(f Finding) {
		if report(f); f.Kind == inspect.FileDamaged {
			damaged = append(damaged, f.Text)
		}
	})
	if err != nil {
		return sum, fmt.Errorf("engine: check: %w", err)
	}
	err = db.Scrub(ctx, ScrubOptions{Each: func(s Scrubbed) { // finds blocks without rows
		if s.Damage != nil && !slices.ContainsFunc(damaged, func(text string) bool { return strings.Contains(text, s.Name) }) {
			sum.Findings++
			report(Finding{Kind: inspect.FileDamaged, Text: s.Damage.Error()})
		}
	}})
	if err != nil {
		return sum, err
	}
	after := db.counted()
	for name, told := range before {
		rows, ok := counts[name]
		if !ok || told == rows || told != after[name] || db.counting.Load() { // written in the meantime, or being counted
			continue
		}
		report(Finding{Kind: inspect.Count, Table: name, Text: fmt.Sprintf("DescribeTable tells %d items of %d bytes, there are %d of %d bytes", told[0], told[1], rows[0], rows[1])})
	}
	return sum, nil
}

// counted returns the number of items of each table and their size, as reported by DescribeTable.
func (db *DB) counted() map[string][2]int64 {
	counts := map[string][2]int64{}
	for name, t := range *db.tables.Load() {
		counts[name] = [2]int64{t.items.Load(), t.bytes.Load()}
	}
	return counts
}

// sourceOf returns a source that reads a snapshot.
func sourceOf(snap *pebble.Snapshot) inspect.Source {
	return func(lower, upper []byte) (inspect.Rows, error) {
		it, err := snap.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			return nil, damage.Of(err)
		}
		return inspected{it}, nil
	}
}

// inspected is an iterator that returns the errors of the engine.
type inspected struct{ *pebble.Iterator }

// ValueAndErr implements inspect.Rows.
func (r inspected) ValueAndErr() ([]byte, error) { return damage.Value(r.Iterator) }

// Error implements inspect.Rows.
func (r inspected) Error() error { return damage.Of(r.Iterator.Error()) }

// Close implements inspect.Rows. Corruption has already been reported by then.
func (r inspected) Close() error {
	if err := r.Iterator.Close(); !pebble.IsCorruptionError(err) {
		return err
	}
	return nil
}
