package export

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/fold"
)

// odd is a stream whose answers the test controls.
type odd struct {
	fold.Source
	before func(shard string) (empty bool, err error) // called before a read; before a list, with an empty shard
}

func (o *odd) Shards(ctx context.Context) ([]fold.Shard, error) {
	if _, err := o.before(""); err != nil {
		return nil, err
	}
	return o.Source.Shards(ctx)
}

func (o *odd) Read(ctx context.Context, r fold.ReadRequest) (fold.Batch, error) {
	if empty, err := o.before(r.Shard); empty || err != nil {
		return fold.Batch{Last: r.After}, err
	}
	return o.Source.Read(ctx, r)
}

// oddly returns an exporter of such a stream. Its pauses advance the clock.
func (w *world) oddly(before func(shard string) (bool, error)) *Exporter {
	x := w.exporter()
	x.source = &odd{Source: x.source, before: before}
	x.o.Sleep = func(ctx context.Context, d time.Duration) error {
		w.Advance(d)
		return ctx.Err()
	}
	return x
}

// Answers may be empty although there are more changes.
func TestEmptyPages(t *testing.T) {
	each(t, 2, func(w *world) {
		reads := 0
		w.Must(w.oddly(func(string) (bool, error) {
			reads++
			return reads%10 != 0, nil
		}).CatchUp(w.Ctx))
		w.compare()
	})
}

// An exporter catches up even with a stream that keeps growing.
func TestBusy(t *testing.T) {
	each(t, 1, func(w *world) {
		reads := 0
		w.Must(w.oddly(func(shard string) (bool, error) {
			if reads++; reads > 5000 {
				return false, errors.New("it never ends")
			}
			if shard != "" {
				w.Advance(time.Second)
				for range 3 {
					w.visit()
				}
			}
			return false, nil
		}).CatchUp(w.Ctx))
		w.Must(w.exporter().CatchUp(w.Ctx))
		w.compare()
	})
}

// Throttling of one shard does not stop the export of others, and permanent throttling is reported.
func TestThrottled(t *testing.T) {
	each(t, 2, func(w *world) {
		throttled := errors.Join(errors.New("get records"), &types.ProvisionedThroughputExceededException{})
		w.Must(w.oddly(func(string) (bool, error) {
			if w.random.IntN(3) == 0 {
				return false, throttled
			}
			return false, nil
		}).CatchUp(w.Ctx))
		w.compare()
		if err := w.oddly(func(string) (bool, error) { return false, throttled }).CatchUp(w.Ctx); !errors.Is(err, throttled) {
			w.Errorf("of a stream that is throttled for ever: %v", err)
		}
		w.compare()
	})
}
