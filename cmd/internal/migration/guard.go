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

// These constants ensure that everything acknowledged before a migration finished is in the new
// store, even if a process that uses the old one is suspended for hours and resumed. A guarded
// table returns a response only if a check that started less than trustFor ago found that the table
// had not left. So everything acknowledged was written less than trustFor after the table recorded
// that it leaves, by the clock of one process. The migration reads the last changes when Grace has
// passed since then.
const (
	lookEvery = 5 * time.Second
	trustFor  = 8 * time.Second
	retryIn   = 10 * time.Second // Retry-After of rejected requests

	// Grace is how long after a table has recorded that it leaves acknowledged writes may happen.
	// It is longer than trustFor, because clocks run at different rates.
	Grace = 10 * time.Second
)

// Guard wraps the API of a table so that all requests fail after the table has left, however long
// the process was suspended. While the table is used, it checks the state every few seconds.
// Errors: dynamo.Failure of the kind Moved, which wraps ErrAway.
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

	asking chan struct{} // semaphore: one check at a time
	seen   atomic.Pointer[time.Time]
}

// stays reports whether a recent check found that the table is here. It does not trust one clock
// alone, because the clock may be set, or stop while the machine is suspended.
func (g *guard) stays(now time.Time) bool {
	seen := g.seen.Load()
	return seen != nil && now.Sub(*seen) < trustFor && now.Round(0).Sub(seen.Round(0)).Abs() < trustFor
}

// look checks whether the table is here.
func (g *guard) look(ctx context.Context) error {
	// The start of the check counts: the table may leave at any time after it was read.
	began := time.Now()
	if err := Check(ctx, g.API, g.name); err != nil {
		return err
	}
	g.seen.Store(&began)
	return nil
}

// here returns an error if the table has left, or may have left.
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
	// Another request may have completed a check while this one waited.
	if g.stays(time.Now()) {
		return nil
	}
	err := g.look(ctx)
	if errors.Is(err, ErrAway) {
		return &dynamo.Failure{Kind: dynamo.Moved, After: retryIn, Err: err}
	}
	return err
}

// checked returns the error of a failed request. If the table itself did not respond, the check is
// skipped, because nothing is acknowledged.
func (g *guard) checked(ctx context.Context, err error) error {
	if err != nil && dynamo.Code(err) == "" {
		return err
	}
	if left := g.here(ctx); left != nil {
		return left
	}
	return err
}

// guarded returns a response if the table is still here.
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

// GetItem implements dynamo.Items. Reads are guarded too, because a read can serve as an
// acknowledgement that an item exists.
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

// Values returns the wrapped API's reader of values. It is not guarded, because it reads statistics
// and acknowledges nothing.
func (g *guard) Values() dynamo.ValuesReader { return dynamo.ValuesOf(g.API) }

// putter guards an API with PutItems.
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

// Watch returns ErrAway soon after the table has left, or ctx's error when ctx ends. It retries
// failed reads.
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
