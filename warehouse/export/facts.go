package export

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/readings"
	"github.com/onefold/onefold/warehouse"
)

// place is the place of a fact: its partition and its key there.
type place struct {
	part warehouse.Partition
	key  warehouse.Key // without Sub
}

// op is the change to make to a fact.
type op struct {
	rows    []warehouse.Row // none means that the fact is removed
	replace bool            // whether an existing fact is replaced; otherwise it stays
	known   bool            // whether the fact exists and stays
}

// then combines an op with the next one of the same fact. An existing fact that is added again
// stays as it is.
func (o *op) then(next *op) *op {
	if o == nil {
		return next
	}
	if len(o.rows) > 0 && len(next.rows) > 0 && !next.replace {
		return o
	}
	next.replace = true
	return next
}

func factPlace(d warehouse.Dataset, key string, k warehouse.Key) place {
	k.Sub = ""
	return place{part: warehouse.PartitionOf(d, key, k.At), key: k}
}

// wanted reports whether changes of an entity are needed.
func wanted(entity string) bool {
	switch entity {
	case analytics.Blocks.Name(), readings.Blocks.Name(), readings.Removals.Name(), eventstore.Heads.Name(), eventstore.Pages.Name(), analytics.Sites.Name(), telemetry.Fleets.Name():
		return true
	}
	return false
}

func entityOf(c *fold.Change) string {
	for _, it := range []table.Item{c.New, c.Old} {
		if s, ok := it[table.AttrEntity].(*types.AttributeValueMemberS); ok {
			return s.Value
		}
	}
	return ""
}

// version is a fact as an image of a change holds it. Without rows, it is not to be stored.
type version struct {
	place
	rows []warehouse.Row
}

func eventVersion(e *analytics.Event) (version, error) {
	row, err := warehouse.NewEventRow(e, e.ExpiresAt)
	if err != nil {
		return version{}, err
	}
	v := version{place: factPlace(warehouse.Events, e.SiteID, row.Key())}
	if !e.Erased {
		v.rows = []warehouse.Row{row}
	}
	return v, nil
}

func readingVersion(r *telemetry.Reading) version {
	rows := warehouse.NewReadingRows(r)
	return version{place: factPlace(warehouse.Readings, r.FleetID, rows[0].Key()), rows: rows}
}

func domainVersion(e *eventstore.Event) (version, error) {
	row, err := warehouse.NewDomainEventRow(e)
	if err != nil {
		return version{}, err
	}
	return version{place: factPlace(warehouse.DomainEvents, e.EventType, row.Key()), rows: []warehouse.Row{row}}, nil
}

// take adds a change to the batch.
func (b *batch) take(c *fold.Change) error {
	switch entityOf(c) {
	case analytics.Sites.Name():
		return b.takeSite(c)
	case telemetry.Fleets.Name():
		return b.takeFleet(c)
	case analytics.Blocks.Name():
		return b.takeBlock(c)
	case readings.Blocks.Name():
		return b.takeReadings(c)
	case readings.Removals.Name():
		return b.takeRemoval(c)
	default:
		return b.takeDomainEvents(c)
	}
}

// takeBlock takes the events that a change of a block adds, changes or removes.
func (b *batch) takeBlock(c *fold.Change) error {
	if c.Expired {
		return nil // the warehouse keeps what expires in the table
	}
	was, err := blockVersions(c.Old)
	if err != nil {
		return fmt.Errorf("its old image: %w", err)
	}
	is, err := blockVersions(c.New)
	if err != nil {
		return err
	}
	for at := range was {
		if _, stays := is[at]; !stays {
			b.put(at, &op{})
		}
	}
	for at, v := range is {
		old, had := was[at]
		if !had || !reflect.DeepEqual(old, v) {
			b.put(at, &op{rows: v.rows, replace: had})
		}
	}
	return nil
}

// blockVersions reads an image of a block, which may be nil.
func blockVersions(it table.Item) (map[place]version, error) {
	if it == nil {
		return nil, nil
	}
	block, err := analytics.Blocks.Decode(it)
	if err != nil {
		return nil, err
	}
	events, err := block.Events()
	if err != nil {
		return nil, err
	}
	all := make(map[place]version, len(events))
	for i := range events {
		v, err := eventVersion(&events[i])
		if err != nil {
			return nil, err
		}
		all[v.place] = v
	}
	return all, nil
}

// takeReadings takes the readings of a new block. Blocks are removed after their readings are in
// segments, so removals are ignored.
func (b *batch) takeReadings(c *fold.Change) error {
	if c.Old != nil || c.New == nil {
		return nil
	}
	block, err := readings.Blocks.Decode(c.New)
	if err != nil {
		return err
	}
	all, err := block.Readings()
	for i := range all {
		v := readingVersion(&all[i])
		b.put(v.place, &op{rows: v.rows})
	}
	return err
}

// takeRemoval removes the readings of a deleted device. It comes after the blocks in which they
// arrived.
func (b *batch) takeRemoval(c *fold.Change) error {
	if c.New == nil {
		return nil
	}
	removal, err := readings.Removals.Decode(c.New)
	if err != nil {
		return err
	}
	all, err := removal.Readings()
	for i := range all {
		b.put(readingVersion(&all[i]).place, &op{})
	}
	return err
}

// takeDomainEvents takes the events of an append to the event store. Removals are ignored, because
// the warehouse keeps the events of truncated streams.
func (b *batch) takeDomainEvents(c *fold.Change) error {
	events, err := eventstore.EventsOfChange(c)
	for i := range events {
		v, err := domainVersion(&events[i])
		if err != nil {
			return err
		}
		b.put(v.place, &op{rows: v.rows})
	}
	return err
}

// takeSite records that a site is deleted. All its facts are removed at once, not event by event.
func (b *batch) takeSite(c *fold.Change) error {
	it, gone := c.New, c.New == nil
	if gone {
		it = c.Old
	}
	s, err := analytics.Sites.Decode(it)
	if err == nil && (gone || !s.DeletedAt.IsZero()) {
		b.drops[owner{warehouse.Events, s.SiteID}] = true
	}
	return err
}

func (b *batch) takeFleet(c *fold.Change) error {
	it, gone := c.New, c.New == nil
	if gone {
		it = c.Old
	}
	f, err := telemetry.Fleets.Decode(it)
	if err == nil && (gone || !f.DeletedAt.IsZero()) {
		b.drops[owner{warehouse.Readings, f.FleetID}] = true
	}
	return err
}
