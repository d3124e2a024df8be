package fsck

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Options configure a check. The zero value checks all but snapshots and read models, which need what made them.
type Options struct {
	Types    []string          // of aggregates; none: all
	Folds    map[string]Replay // by type of aggregate: what its snapshots are compared with; see ReplayOf
	Models   []Model           // read models that are compared with a replay
	NoIndex  bool              // does not ask the index for each item, which costs a request each
	After    string            // a Progress.Cursor, to go on where a check was
	Progress func(Progress)    // is told after each page of the table
}

// Progress is how far a check is.
type Progress struct {
	Items      int64  // of the event store, that were passed
	Aggregates int64  // that were checked
	Events     int64  // that were checked
	Snapshots  int64  // that were compared with a replay
	Models     int64  // read models that were compared with a replay
	Unchecked  int64  // snapshots without a fold of their type and version; snapshots and read models whose first events are in no archive
	Findings   int64  // so far
	Cursor     string // to go on from here
}

// settled is how old an item is before it has to be on an index, which follows the table.
const settled = time.Minute

// Check reads the whole table once, and each aggregate in it, and tells what is wrong. Appends may go on meanwhile. It ends
// after the first error. Errors: those of the store; eventstore.ErrInvalid for a cursor of something else.
func Check(ctx context.Context, s *eventstore.Store, o Options) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		c := &checker{s: s, t: s.Table(), o: o, tell: func(f Finding) bool { return yield(f, nil) }}
		if err := c.run(ctx); err != nil && !errors.Is(err, errEnough) {
			yield(Finding{}, fmt.Errorf("fsck: %w", err))
		}
	}
}

// errEnough says that whoever asked has heard enough.
var errEnough = errors.New("enough")

type checker struct {
	s    *eventstore.Store
	t    *table.Table
	o    Options
	p    Progress
	tell func(Finding) bool
	fed  map[eventstore.ID]*fed // what the feed tells; nil: there is none
	last eventstore.ID          // the aggregate that was checked last: its items follow one another
}

func (c *checker) report(f Finding) error {
	c.p.Findings++
	if !c.tell(f) {
		return errEnough
	}
	return nil
}

// wanted reports whether aggregates of a type are checked.
func (c *checker) wanted(t string) bool { return len(c.o.Types) == 0 || slices.Contains(c.o.Types, t) }

// The passes of a check: over the table, then over its index.
const (
	overTable = "table"
	overIndex = "index"
	finished  = "finished"
)

func (c *checker) run(ctx context.Context) error {
	from, err := parseCursor(c.o.After)
	if err != nil {
		return err
	}
	if err := c.s.CheckMode(ctx); err != nil { // or heads that are not there would be made
		return err
	}
	if from.Pass == overTable {
		if err := c.readFeed(ctx); err != nil {
			return err
		}
		if err := c.scan(ctx, from, c.item); err != nil {
			return err
		}
		if err := c.unseen(); err != nil {
			return err
		}
		from = cursor{Pass: overIndex}
	}
	if c.o.NoIndex || from.Pass == finished {
		return nil
	}
	return c.scan(ctx, from, c.entry)
}

// scan passes each item of the event store in the table, or on its index, to do.
func (c *checker) scan(ctx context.Context, from cursor, do func(context.Context, table.Item) error) error {
	in := &dynamodb.ScanInput{
		TableName: aws.String(c.t.Name()), ExclusiveStartKey: from.start(),
		ProjectionExpression: aws.String("pk, sk, et, gsi1pk, gsi1sk, #owner"), ExpressionAttributeNames: map[string]string{"#owner": "owner"},
	}
	if from.Pass == overIndex {
		in.IndexName = aws.String("gsi1")
	} else {
		in.ConsistentRead = aws.Bool(true)
	}
	for {
		out, err := c.t.API().Scan(ctx, in)
		if err != nil {
			return fmt.Errorf("read the %s: %w", from.Pass, err)
		}
		for _, it := range out.Items {
			if !strings.HasPrefix(text(it, table.AttrEntity), "eventstore.") {
				continue
			}
			c.p.Items++
			if err := do(ctx, it); err != nil {
				return err
			}
		}
		if from.Key = textOf(out.LastEvaluatedKey); len(from.Key) == 0 {
			from.Pass = map[string]string{overTable: overIndex, overIndex: finished}[from.Pass]
		}
		if c.p.Cursor = from.String(); c.o.Progress != nil {
			c.o.Progress(c.p)
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// item checks the aggregate that an item belongs to, unless that was just done, or a reservation.
func (c *checker) item(ctx context.Context, it table.Item) error {
	if text(it, table.AttrEntity) == eventstore.Reservations.Name() {
		return c.reservation(ctx, it)
	}
	id, ok := aggregateOf(text(it, table.AttrPK))
	if !ok || id == c.last || !c.wanted(id.Type) {
		return nil
	}
	c.last = id
	c.p.Aggregates++
	return c.aggregate(ctx, id)
}

// aggregateOf is the aggregate of a partition.
func aggregateOf(pk string) (id eventstore.ID, ok bool) {
	rest, ok := strings.CutPrefix(pk, "AGGREGATE#")
	if !ok {
		return id, false
	}
	id.Type, id.ID, ok = strings.Cut(rest, "#")
	return id, ok
}

// text is a text attribute; empty when there is none.
func text(it table.Item, name string) string {
	if s, ok := it[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func keysOf(it table.Item) string { return text(it, table.AttrPK) + " " + text(it, table.AttrSK) }
