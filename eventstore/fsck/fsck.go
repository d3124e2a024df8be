package fsck

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Options configures a check. The zero value checks everything except snapshots and read models,
// which need their definitions.
type Options struct {
	Types    []string          // aggregate types; empty: all
	Folds    map[string]Replay // replays of snapshots by aggregate type, see ReplayOf
	Models   []Model           // read models to compare with a replay
	NoIndex  bool              // skip the check of the index by event type, which costs a request per event
	After    string            // Progress.Cursor of an earlier check, to resume it
	Progress func(Progress)    // called after each page of the table
}

// Progress is the progress of a check.
type Progress struct {
	Items      int64  // items of the event store read
	Aggregates int64  // aggregates checked
	Events     int64  // events checked
	Snapshots  int64  // snapshots compared with a replay
	Models     int64  // read models compared with a replay
	Unchecked  int64  // snapshots without a fold of their type and version; snapshots and read models whose first events are in no archive
	Findings   int64  // findings so far
	Cursor     string // to resume from here
}

// Check reads the whole table once, and each of its aggregates, and yields all inconsistencies.
// Appends may continue. It ends after the first error. Errors: those of the store;
// eventstore.ErrInvalid for an invalid cursor; eventstore.ErrWriteMode.
func Check(ctx context.Context, s *eventstore.Store, o Options) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		c := &checker{s: s, t: s.Table(), o: o, yield: func(f Finding) bool { return yield(f, nil) }}
		if err := c.run(ctx); err != nil && !errors.Is(err, errEnough) {
			yield(Finding{}, fmt.Errorf("fsck: %w", err))
		}
	}
}

// errEnough means that the caller has enough.
var errEnough = errors.New("enough")

type checker struct {
	s     *eventstore.Store
	t     *table.Table
	o     Options
	p     Progress
	yield func(Finding) bool
	fed   map[eventstore.ID]*fed // events in the feed; nil: there is no feed
	index bool                   // a worker writes an index by event type
	last  eventstore.ID          // last checked aggregate: its items are adjacent
}

func (c *checker) report(f Finding) error {
	c.p.Findings++
	if !c.yield(f) {
		return errEnough
	}
	return nil
}

// wanted reports whether aggregates of a type are checked.
func (c *checker) wanted(t string) bool { return len(c.o.Types) == 0 || slices.Contains(c.o.Types, t) }

func (c *checker) run(ctx context.Context) error {
	from, err := parseCursor(c.o.After)
	if err != nil {
		return err
	}
	if err := c.s.CheckMode(ctx); err != nil { // with another write mode, marks and the feed would be reported missing
		return err
	}
	if from.Done {
		return nil
	}
	if err := c.readFeed(ctx); err != nil {
		return err
	}
	if err := c.readIndexed(ctx); err != nil {
		return err
	}
	if err := c.scan(ctx, from); err != nil {
		return err
	}
	return c.unseen()
}

// scan checks each item of the event store in the table.
func (c *checker) scan(ctx context.Context, from cursor) error {
	in := &dynamodb.ScanInput{
		TableName: aws.String(c.t.Name()), ExclusiveStartKey: from.start(), ConsistentRead: aws.Bool(true),
		ProjectionExpression: aws.String("pk, sk, et, #owner, #type, #id, seqNum, createdAt"), ExpressionAttributeNames: map[string]string{"#owner": "owner", "#type": "type", "#id": "id"},
	}
	for {
		out, err := c.t.API().Scan(ctx, in)
		if err != nil {
			return fmt.Errorf("read the table: %w", err)
		}
		for _, it := range out.Items {
			if !strings.HasPrefix(text(it, table.AttrEntity), "eventstore.") {
				continue
			}
			c.p.Items++
			if err := c.item(ctx, it); err != nil {
				return err
			}
		}
		from.Key = textOf(out.LastEvaluatedKey)
		from.Done = len(from.Key) == 0
		if c.p.Cursor = from.String(); c.o.Progress != nil {
			c.o.Progress(c.p)
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; from.Done {
			return nil
		}
	}
}

// item checks a reservation, an entry of a list or an index, or the aggregate of an item unless it was just checked.
func (c *checker) item(ctx context.Context, it table.Item) error {
	switch text(it, table.AttrEntity) {
	case eventstore.Reservations.Name():
		return c.reservation(ctx, it)
	case eventstore.ListOf.Name():
		return c.listEntry(ctx, it)
	case eventstore.TypeEntries.Name():
		return c.indexEntry(ctx, it)
	case eventstore.TagHeads.Name(), eventstore.TagEntries.Name():
		return c.tagged(ctx, it)
	}
	id, ok := aggregateOf(text(it, table.AttrPK))
	if !ok || id == c.last || !c.wanted(id.Type) {
		return nil
	}
	c.last = id
	c.p.Aggregates++
	return c.aggregate(ctx, id)
}

// aggregateOf returns the aggregate of a partition key.
func aggregateOf(pk string) (id eventstore.ID, ok bool) {
	rest, ok := strings.CutPrefix(pk, "AGGREGATE#")
	if !ok {
		return id, false
	}
	id.Type, id.ID, ok = strings.Cut(rest, "#")
	return id, ok
}

// text returns a string attribute, or "".
func text(it table.Item, name string) string {
	if s, ok := it[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func keysOf(it table.Item) string { return text(it, table.AttrPK) + " " + text(it, table.AttrSK) }
