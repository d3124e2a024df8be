package fold

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/table"
)

// CatchUpResult is the result of CatchUp for one aggregate.
type CatchUpResult struct {
	Applied int64 // the last event in the read model
	// Wrote reports whether the read model was written.
	Wrote bool
	// Poison is the error that prevents the next event from being applied; a dead letter records it
	// too. It is nil if the read model is up to date.
	Poison error
}

// CatchUp brings read models of a projection up to date from the events in the table, where Project
// would use the stream. Use it for a new projection, or after fixing the cause of dead letters.
//
// Each aggregate is identified by any one of its events, which needs only the fields that Key and
// Missing use. Results are in the order of aggregates. Dead letters of the projection are stored
// under name. Of o, only the options for requests apply.
//
// CatchUp may run alongside workers: each write is conditional on the version it was computed from,
// and is tried up to 16 times if others interfere. An event that cannot be applied is reported in
// CatchUpResult.Poison, not as an error.
func CatchUp[E, R any, RK comparable](ctx context.Context, t *table.Table, name string, into *table.Entity[R, RK], p Projection[E, R, RK], aggregates []E, o Options) ([]CatchUpResult, error) {
	o = o.withDefaults(t)
	c := &catchUp[E, R, RK]{
		w:   &Worker{table: t, o: o, requests: o.requests(t)},
		l:   &ordered[E, R, RK]{def: &Fold{name: name}, table: t, into: into, p: p, noCache: newCache(-1)},
		out: make([]CatchUpResult, len(aggregates)),
	}
	open := make([]staleModel[E], len(aggregates))
	for i := range aggregates {
		key, err := into.Key(p.Key(&aggregates[i]))
		if err != nil {
			return nil, fmt.Errorf("fold: catch up %s: %w", name, err)
		}
		open[i] = staleModel[E]{at: i, e: &aggregates[i], d: &delta{pipeline: c.l, id: requests.ID(key), key: key}}
	}
	var err error
	for try := 1; len(open) > 0 && err == nil; try++ {
		if open, err = c.round(ctx, open); err == nil && len(open) > 0 {
			if err = errLost; try < maxConflicts {
				err = c.w.o.Sleep(ctx, c.w.requests.Backoff(min(try, 5)))
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

// catchUp is the state of a running CatchUp.
type catchUp[E, R any, RK comparable] struct {
	w   *Worker
	l   *ordered[E, R, RK]
	out []CatchUpResult
}

// staleModel is an aggregate whose read model has to catch up.
type staleModel[E any] struct {
	// at is the index of the aggregate in the result.
	at     int
	e      *E
	d      *delta
	before int64                  // the last event in the read model as loaded
	in     *dynamodb.PutItemInput // nil if there is nothing to write
}

// round makes one attempt for each open aggregate and returns those that another writer changed in
// the meantime.
func (c *catchUp[E, R, RK]) round(ctx context.Context, open []staleModel[E]) (lost []staleModel[E], err error) {
	deltas := make([]*delta, len(open))
	for i, b := range open {
		deltas[i], b.d.held = b.d, nil
	}
	if err := c.w.load(ctx, deltas); err != nil {
		return nil, err
	}
	if err := each(c.w.o.Readers, len(open), func(i int) error { return c.prepare(ctx, &open[i]) }); err != nil {
		return nil, err
	}
	var puts []*dynamodb.PutItemInput
	var of []staleModel[E]
	for _, b := range open {
		if b.in != nil {
			puts, of = append(puts, b.in), append(of, b)
		}
	}
	for i, err := range dynamo.PutAll(ctx, c.w.table.API(), puts, c.w.o.Writers) {
		if err != nil && requests.Transient(err) {
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
			c.out[of[i].at] = CatchUpResult{Applied: of[i].before}
			c.addDeadLetter(&of[i], p)
		}
	}
	return lost, nil
}

// prepare applies the missing events and builds the request that writes the result.
func (c *catchUp[E, R, RK]) prepare(ctx context.Context, b *staleModel[E]) error {
	b.in = nil
	if b.d.held == nil { // load could not read the item and has buried it
		c.out[b.at].Poison = errors.New("cannot read the read model")
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
	c.out[b.at] = CatchUpResult{Applied: s.applied}
	if poison {
		c.addDeadLetter(b, p)
	}
	if s.applied == b.before {
		return nil
	}
	held := b.d.held
	held.state = s
	return c.encode(b, held)
}

// upTo rebuilds the state as of event last, from the item as it was loaded. The failed event may
// have been half applied to the first copy.
func (c *catchUp[E, R, RK]) upTo(ctx context.Context, b *staleModel[E], last int64) (*projected[R], error) {
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

// encode builds the request that writes a state. A state that does not fit into an item is poison.
func (c *catchUp[E, R, RK]) encode(b *staleModel[E], held *stored) error {
	it, next, err := c.w.encode(b.d, held, false)
	if p, refused := isPoison(err); refused {
		c.out[b.at].Applied = b.before
		c.addDeadLetter(b, p)
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

// addDeadLetter records that the next event of an aggregate cannot be applied.
func (c *catchUp[E, R, RK]) addDeadLetter(b *staleModel[E], p *poisonError) {
	next := &c.out[b.at]
	next.Poison = p.err
	h := fnv.New64a()
	h.Write([]byte(b.d.id)) //nolint:errcheck // a hash never fails
	c.w.addDeadLetter(Dead{
		DeadKey: DeadKey{Fold: c.l.def.name, Seq: fmt.Sprint(next.Applied + 1), Shard: "table", Part: fmt.Sprintf("%016x", h.Sum64())},
		Reason:  reason(p.err), Changes: 1, At: c.w.o.Clock(), ItemPK: stringOf(b.d.key[table.AttrPK]), ItemSK: stringOf(b.d.key[table.AttrSK]),
	})
}
