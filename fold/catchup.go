package fold

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// Caught is what CatchUp made of one aggregate.
type Caught struct {
	Applied int64 // the last event that is in the read model
	Wrote   bool
	// Poison says why the event after it cannot be applied; a dead letter does, too. nil: the read model is up to date.
	Poison error
}

// CatchUp brings read models of a projection up to date with the table, as Project would from the stream, and beside it: for
// a new projection, or after a fault was mended. Each of the aggregates is an event of which only Key and Missing need to be
// able to tell whose it is. The result is in their order. The projection's dead letters are kept under name. Of the
// options, those of requests count.
func CatchUp[E, R any, RK comparable](ctx context.Context, t *table.Table, name string, into *table.Entity[R, RK], p Projection[E, R, RK], aggregates []E, o Options) ([]Caught, error) {
	c := &catching[E, R, RK]{
		w:   &Worker{table: t, o: o.withDefaults(t)},
		l:   &ordered[E, R, RK]{def: &Fold{name: name}, table: t, into: into, p: p, none: newCache(-1)},
		out: make([]Caught, len(aggregates)),
	}
	open := make([]behind[E], len(aggregates))
	for i := range aggregates {
		key, err := into.Key(p.Key(&aggregates[i]))
		if err != nil {
			return nil, fmt.Errorf("fold: catch up %s: %w", name, err)
		}
		open[i] = behind[E]{at: i, e: &aggregates[i], d: &delta{lane: c.l, id: itemID(key), key: key}}
	}
	var err error
	for try := 1; len(open) > 0 && err == nil; try++ {
		if open, err = c.round(ctx, open); err == nil && len(open) > 0 {
			if err = errLost; try < maxConflicts {
				err = c.w.o.Sleep(ctx, c.w.backoff(min(try, 5)))
			}
		}
	}
	if err == nil {
		err = c.w.flushDead(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("fold: catch up %s: %w", name, err)
	}
	return c.out, nil
}

// catching is a CatchUp under way.
type catching[E, R any, RK comparable] struct {
	w   *Worker
	l   *ordered[E, R, RK]
	out []Caught
}

// behind is an aggregate whose read model is to be caught up.
type behind[E any] struct {
	at     int
	e      *E
	d      *delta
	before int64                  // the last event in the read model as it was loaded
	in     *dynamodb.PutItemInput // nil: there is nothing to write
}

// round tries once, and returns what somebody else has written meanwhile.
func (c *catching[E, R, RK]) round(ctx context.Context, open []behind[E]) (lost []behind[E], err error) {
	deltas := make([]*delta, len(open))
	for i, b := range open {
		deltas[i], b.d.held = b.d, nil
	}
	if err := c.w.load(ctx, deltas); err != nil {
		return nil, err
	}
	if err := c.w.each(c.w.o.Readers, len(open), func(i int) error { return c.prepare(ctx, &open[i]) }); err != nil {
		return nil, err
	}
	var puts []*dynamodb.PutItemInput
	var of []behind[E]
	for _, b := range open {
		if b.in != nil {
			puts, of = append(puts, b.in), append(of, b)
		}
	}
	for i, err := range dynamo.PutAll(ctx, c.w.table.API(), puts, c.w.o.Writers) {
		if err != nil && transient(err) {
			err = c.w.put(ctx, puts[i])
		}
		switch err = refusedOrLost(err); {
		case err == nil:
			c.out[of[i].at].Wrote = true
		case errors.Is(err, errLost):
			lost = append(lost, of[i])
		default:
			p, poison := isPoison(err)
			if !poison {
				return nil, err
			}
			c.out[of[i].at] = Caught{Applied: of[i].before}
			c.bury(&of[i], p)
		}
	}
	return lost, nil
}

// prepare applies what is missing and makes the request that writes it.
func (c *catching[E, R, RK]) prepare(ctx context.Context, b *behind[E]) error {
	b.in = nil
	if b.d.held == nil { // it cannot be read, which load has told
		c.out[b.at].Poison = errors.New("the read model cannot be read")
		return nil
	}
	s := b.d.held.state.(*projected[R])
	b.before = s.applied
	err := c.l.fill(ctx, s, b.e, 0)
	p, poison := isPoison(err)
	if err != nil && !poison {
		return err
	}
	if poison {
		if s, err = c.upTo(ctx, b, s.applied); err != nil {
			return err
		}
	}
	c.out[b.at] = Caught{Applied: s.applied}
	if poison {
		c.bury(b, p)
	}
	if s.applied == b.before {
		return nil
	}
	held := b.d.held
	held.state = s
	return c.encode(b, held)
}

// upTo makes the state again that was at the last event that can be applied: the failure may have left half of the one after.
func (c *catching[E, R, RK]) upTo(ctx context.Context, b *behind[E], last int64) (*projected[R], error) {
	good, err := c.l.decode(b.d, b.d.held.state.(*projected[R]).origin)
	if err != nil {
		return nil, err
	}
	s := good.(*projected[R])
	if last > b.before {
		err = c.l.fill(ctx, s, b.e, last)
	}
	return s, err
}

// encode makes the request that writes a state. One that no item can hold is poison.
func (c *catching[E, R, RK]) encode(b *behind[E], held *stored) error {
	it, next, err := c.w.encode(b.d, held, false)
	if p, refused := isPoison(err); refused {
		c.out[b.at].Applied = b.before
		c.bury(b, p)
		return nil
	}
	if err != nil {
		return err
	}
	it[AttrVersion], it[AttrMarks] = number(next.version), next.marks.attribute()
	b.in = &dynamodb.PutItemInput{TableName: ptr(c.w.table.Name()), Item: it}
	onVersion(b.in, held)
	return nil
}

// bury notes that an aggregate's next event cannot be applied.
func (c *catching[E, R, RK]) bury(b *behind[E], p *poisonError) {
	next := &c.out[b.at]
	next.Poison = p.err
	h := fnv.New64a()
	h.Write([]byte(b.d.id)) //nolint:errcheck // a hash never fails
	c.w.bury(Dead{
		DeadKey: DeadKey{Fold: c.l.def.name, Seq: fmt.Sprint(next.Applied + 1), Shard: "table", Part: fmt.Sprintf("%016x", h.Sum64())},
		Reason:  reason(p.err), Changes: 1, At: c.w.o.Clock(), ItemPK: stringOf(b.d.key[table.AttrPK]), ItemSK: stringOf(b.d.key[table.AttrSK]),
	})
}
