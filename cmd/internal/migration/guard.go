package migration

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/backoff"
)

// How it is known that what was acknowledged before a move was finished is at the new place, though a process that works on the old one
// may be stopped for hours and go on then. An answer of a guarded table is given only if a look that began less than trustFor ago found
// that the table had not left. So whatever is acknowledged was written less than trustFor after the table said that it leaves, by the
// clock of one process; and who finishes the move reads the last changes when Grace has passed since.
const (
	lookEvery = 5 * time.Second
	trustFor  = 8 * time.Second
	retryIn   = 10 * time.Second // what is refused is asked to come again after this

	// Grace is how long after a table has said that it leaves something may have been written that is acknowledged: longer than
	// trustFor, since clocks do not run alike.
	Grace = 10 * time.Second
)

// Guard returns the API of a table that answers nothing any more when the table has left, however long the process was stopped. It asks
// the table itself every few seconds, if it is used. Errors: dynamo.Failure of the kind Moved, which wraps ErrAway.
func Guard(api dynamo.API, name string) dynamo.API {
	g := &guard{API: api, name: name, asking: make(chan struct{}, 1)}
	if many, ok := api.(dynamo.Putter); ok {
		return &putter{guard: g, many: many}
	}
	return g
}

type guard struct {
	dynamo.API
	name string

	asking chan struct{} // one at a time
	seen   atomic.Pointer[time.Time]
}

// stays reports whether it was seen a moment ago that the table is here. A clock that is set, or that rests while the machine does, is
// not trusted alone.
func (g *guard) stays(now time.Time) bool {
	seen := g.seen.Load()
	return seen != nil && now.Sub(*seen) < trustFor && now.Round(0).Sub(seen.Round(0)).Abs() < trustFor
}

// look asks the table whether it is here.
func (g *guard) look(ctx context.Context) error {
	began := time.Now()
	if err := Check(ctx, g.API, g.name); err != nil {
		return err
	}
	g.seen.Store(&began)
	return nil
}

// here fails when the table has left, or may have.
func (g *guard) here(ctx context.Context) error {
	if g.stays(time.Now()) {
		return nil
	}
	select {
	case g.asking <- struct{}{}:
		defer func() { <-g.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if g.stays(time.Now()) {
		return nil
	}
	err := g.look(ctx)
	if errors.Is(err, ErrAway) {
		return &dynamo.Failure{Kind: dynamo.Moved, After: retryIn, Err: err}
	}
	return err
}

// checked is the error of a request that had one. One that the table did not answer is none: nothing is acknowledged by it.
func (g *guard) checked(ctx context.Context, err error) error {
	if err != nil && dynamo.Code(err) == "" {
		return err
	}
	if left := g.here(ctx); left != nil {
		return left
	}
	return err
}

// guarded is an answer, if the table is still here.
func guarded[Out any](ctx context.Context, g *guard, out *Out, err error) (*Out, error) {
	if err = g.checked(ctx, err); err != nil {
		return nil, err
	}
	return out, nil
}

// PutItem implements dynamo.Items.
func (g *guard) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	out, err := g.API.PutItem(ctx, in, o...)
	return guarded(ctx, g, out, err)
}

// GetItem implements dynamo.Items: that something is there already may be what is acknowledged.
func (g *guard) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := g.API.GetItem(ctx, in, o...)
	return guarded(ctx, g, out, err)
}

// UpdateItem implements dynamo.Items.
func (g *guard) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := g.API.UpdateItem(ctx, in, o...)
	return guarded(ctx, g, out, err)
}

// DeleteItem implements dynamo.Items.
func (g *guard) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	out, err := g.API.DeleteItem(ctx, in, o...)
	return guarded(ctx, g, out, err)
}

// Query implements dynamo.Items.
func (g *guard) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := g.API.Query(ctx, in, o...)
	return guarded(ctx, g, out, err)
}

// Scan implements dynamo.Items.
func (g *guard) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	out, err := g.API.Scan(ctx, in, o...)
	return guarded(ctx, g, out, err)
}

// BatchGetItem implements dynamo.Items.
func (g *guard) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out, err := g.API.BatchGetItem(ctx, in, o...)
	return guarded(ctx, g, out, err)
}

// BatchWriteItem implements dynamo.Items.
func (g *guard) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	out, err := g.API.BatchWriteItem(ctx, in, o...)
	return guarded(ctx, g, out, err)
}

// TransactWriteItems implements dynamo.Items.
func (g *guard) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := g.API.TransactWriteItems(ctx, in, o...)
	return guarded(ctx, g, out, err)
}

// TransactGetItems implements dynamo.Items.
func (g *guard) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	out, err := g.API.TransactGetItems(ctx, in, o...)
	return guarded(ctx, g, out, err)
}

// Values is what the API offers: figures are read by it, and nothing is acknowledged.
func (g *guard) Values() dynamo.ValuesReader { return dynamo.ValuesOf(g.API) }

// putter is the guard of an API that puts many items.
type putter struct {
	*guard
	many dynamo.Putter
}

// PutItems implements dynamo.Putter.
func (p *putter) PutItems(ctx context.Context, ins []*dynamodb.PutItemInput) []error {
	errs := p.many.PutItems(ctx, ins)
	for i, err := range errs {
		errs[i] = p.checked(ctx, err)
	}
	return errs
}

// Watch ends with ErrAway soon after the table has left, or when ctx ends. What cannot be read may be read the next time.
func Watch(ctx context.Context, api dynamo.API, name string) error {
	look := func(ctx context.Context) error { return Check(ctx, api, name) }
	if g, ok := api.(interface{ look(context.Context) error }); ok {
		look = g.look
	}
	for backoff.For(ctx, lookEvery) == nil {
		if err := look(ctx); errors.Is(err, ErrAway) {
			return err
		}
	}
	return ctx.Err()
}
