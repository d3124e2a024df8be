package analytics

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/block"
)

// ErrDamaged is returned when a block of events cannot be decoded. The message names the block.
var ErrDamaged = errors.New("analytics: damaged block of events")

// BlockKey is the key of a block. All events of a block share a site, a shard and a span of five
// minutes. The shard is derived from the event's ID, so a resent event goes to the same partition.
type BlockKey struct {
	SiteID  string `dynamodbav:"siteId"`
	Shard   int    `dynamodbav:"shard"`
	BlockID string `dynamodbav:"blockId"` // ULID: the time of its first event, then 80 bits that begin with its arrival
}

// Block holds events that arrived together, ordered by distinct IDs: docs/format/events.md.
type Block struct {
	BlockKey
	Body  []byte `dynamodbav:"body"`  // encoded columns
	Count int    `dynamodbav:"count"` // number of events
	Last  int64  `dynamodbav:"last"`  // time of the last event, epoch milliseconds

	// ExpiresAt is when the block may be deleted: the latest expiry of its events.
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

const (
	// blockSpan limits the time that a block covers, so that a time range is in few blocks. A
	// window of known events covers the same span.
	blockSpan = 5 * time.Minute

	blockBytes    = 64 << 10 // target size of a body; small, so that a flush need not wait for a large block
	maxBlockBytes = 380 << 10
)

// spanOf returns the start of the span that contains a time, both in epoch milliseconds.
func spanOf(ms int64) int64 { return ms - ms%blockSpan.Milliseconds() }

// eventIDs is the number of the column with event IDs.
const eventIDs = 1

// eventBlocks defines the columns of events. Their numbers are part of the format: never reuse one.
var eventBlocks = block.New('e', append(traitColumns(),
	block.ID(eventIDs, func(e *Event) *string { return &e.EventID }),
	block.Text(2, func(e *Event) *string { return &e.VisitorID }),
	block.Int(3, func(e *Event) *int { return &e.VisitorShard }),
	block.Int(5, func(e *Event) *int { return &e.ZoneMinutes }),
	block.Int(6, func(e *Event) *int64 { return &e.Arrived }),
	block.Text(7, func(e *Event) *string { return &e.Name }),
	block.Text(8, func(e *Event) *string { return &e.Path }),
	block.Text(9, func(e *Event) *string { return &e.Host }),
	block.Text(10, func(e *Event) *string { return &e.SessionID }),
	block.Text(11, func(e *Event) *string { return &e.UserID }),
	block.TextMap(28, func(e *Event) *map[string]string { return &e.Properties }),
	block.Text(29, func(e *Event) *string { return &e.Revenue }),
	block.Int(30, func(e *Event) *int64 { return &e.EngagedMS }),
	block.Int(31, func(e *Event) *int { return &e.Scroll }),
	block.Float(32, func(e *Event) *float64 { return &e.LCP }),
	block.Float(33, func(e *Event) *float64 { return &e.INP }),
	block.OptionalFloat(34, func(e *Event) **float64 { return &e.CLS }),
	block.TextList(35, func(e *Event) *[]string { return &e.Counted }),
	block.Nested(36, writeGoals, readGoals),
	block.Bool(37, func(e *Event) *bool { return &e.Erased }),
	block.Text(38, func(e *Event) *string { return &e.Paid.Amount }),
	block.Text(39, func(e *Event) *string { return &e.Paid.Currency }),
	block.Bool(40, func(e *Event) *bool { return &e.Paid.Unconverted }),
)...)

// traitColumns returns the columns of the dimensions that are traits.
func traitColumns() (columns []block.Column[Event]) {
	for _, d := range TraitDefs {
		columns = append(columns, block.Text(d.Column, func(e *Event) *string { return d.Of(&e.Traits) }))
	}
	return columns
}

func writeGoals(w *block.Writer, e *Event) {
	if len(e.Goals) == 0 {
		return
	}
	w.Count(len(e.Goals))
	for _, g := range e.Goals {
		w.Text(g.Goal)
		w.Text(g.Value)
		w.Text(g.Revenue)
		w.Int(g.Count)
		once := uint64(0)
		if g.Once {
			once = 1
		}
		w.Uint(once)
	}
}

func readGoals(r *block.Reader, e *Event) {
	e.Goals = make(Conversions, r.Count())
	for i := range e.Goals {
		g := visits.Conversion{Goal: r.Text(), Value: r.Text(), Revenue: r.Text(), Count: r.Int()}
		once := r.Uint()
		if g.Once = once == 1; once > 1 {
			r.Fail()
		}
		e.Goals[i] = g
	}
}

// Pack encodes events that arrived together into blocks. Their IDs must be distinct. Collectors
// pack their own events; Pack is for callers with events from elsewhere.
func Pack(events []Event, arrived time.Time) ([]Block, error) {
	at := make([]int, len(events))
	for i := range at {
		at[i] = i
	}
	all, err := pack(events, at, arrived)
	blocks := make([]Block, len(all))
	for i := range all {
		blocks[i] = all[i].Block
	}
	return blocks, err
}

// packed is a block and the indexes of its events in the packed slice.
type packed struct {
	Block
	of []int
}

// pack encodes the events at the given indexes into blocks. Their IDs must be distinct.
func pack(events []Event, at []int, arrived time.Time) (blocks []packed, err error) {
	at = slices.Clone(at)
	slices.SortFunc(at, func(a, b int) int { return comparePlaces(&events[a], &events[b]) })
	sorted := make([]Event, len(at))
	for n, i := range at {
		sorted[n] = events[i]
	}
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && samePlace(&sorted[from], &sorted[to]) {
			to++
		}
		for part, err := range eventBlocks.Split(sorted[from:to], blockBytes) {
			if err != nil {
				return nil, fmt.Errorf("analytics: pack events: %w", err)
			}
			n := len(part.Facts)
			blocks = append(blocks, packed{blockOf(part.Facts, part.Body, arrived), at[from : from+n]})
			from += n
		}
	}
	return blocks, nil
}

// blockOf returns the block with the given events and their encoded body.
func blockOf(events []Event, body []byte, arrived time.Time) Block {
	first, last := &events[0], &events[len(events)-1]
	b := Block{BlockKey: BlockKey{first.SiteID, first.Shard, blockID(timeIn(first.EventID), arrived)}, Body: body, Count: len(events), Last: timeIn(last.EventID)}
	for i := range events {
		if at := events[i].ExpiresAt; at.After(b.ExpiresAt) {
			b.ExpiresAt = at
		}
	}
	return b
}

// Events decodes the block's events. Errors: ErrDamaged.
func (b *Block) Events() ([]Event, error) { return b.appendEvents(nil) }

// appendEvents decodes the events and appends them, with the given columns or all of them. A choice
// of columns must include eventIDs. An event out of order or outside the span is damage.
func (b *Block) appendEvents(to []Event, only ...byte) ([]Event, error) {
	events, err := eventBlocks.Decode(to, b.Body, only...)
	if err != nil {
		return to, b.damaged(err)
	}
	span, last := spanOf(timeIn(b.BlockID)), ""
	for i := len(to); i < len(events); i++ {
		e := &events[i]
		if e.EventID <= last || len(e.EventID) != ulid.EncodedSize || spanOf(timeIn(e.EventID)) != span {
			return to, b.damaged(fmt.Errorf("event %q is out of order", e.EventID))
		}
		e.SiteID, e.Shard, e.ExpiresAt, last = b.SiteID, b.Shard, b.ExpiresAt, e.EventID
	}
	return events, nil
}

func (b *Block) damaged(err error) error {
	return fmt.Errorf("%w %s of site %s, shard %d: %w", ErrDamaged, b.BlockID, b.SiteID, b.Shard, err)
}

// comparePlaces orders events by partition, then by ID.
func comparePlaces(a, b *Event) int {
	if a.SiteID != b.SiteID {
		return strings.Compare(a.SiteID, b.SiteID)
	}
	if a.Shard != b.Shard {
		return a.Shard - b.Shard
	}
	return strings.Compare(a.EventID, b.EventID)
}

func samePlace(a, b *Event) bool {
	return a.SiteID == b.SiteID && a.Shard == b.Shard && spanOf(timeIn(a.EventID)) == spanOf(timeIn(b.EventID))
}

// timeIn returns the time in the ID of an event or block, in epoch milliseconds; -1 if invalid.
func timeIn(id string) int64 {
	ms, err := eventMS(id)
	if err != nil {
		return -1
	}
	return ms
}

// blockID makes the ID of a block. Its low 80 bits begin with the arrival time, so that blocks with
// the same first event sort by arrival.
func blockID(first int64, arrived time.Time) string {
	arrival := uint64(max(arrived.UnixMilli(), 0))
	chance := rand.Uint32()
	return newULID(uint64(max(first, 0)), arrival<<16|uint64(chance>>16), uint16(chance)).String()
}
