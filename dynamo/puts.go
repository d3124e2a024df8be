package dynamo

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Putter is what an API may offer beside PutItem: many of them for the price of less. The embedded engine offers it,
// which spares its callers a goroutine and a turn of the log for each item; DynamoDB's client does not.
type Putter interface {
	// PutItems does what a PutItem for each input would do, all at once: each is refused or done by itself,
	// with PutItem's error, in any order, while a failure of the store may fail others with it. Only an input that repeats the key of another is put after it. When it returns, what
	// succeeded is durable, and nothing of the inputs is kept: callers fill their maps again.
	PutItems(ctx context.Context, ins []*dynamodb.PutItemInput) []error
}

// PutAll puts items in the way that the API offers, at most so many at once, and returns PutItem's error for each.
func PutAll(ctx context.Context, api API, ins []*dynamodb.PutItemInput, atOnce int) []error {
	if p, ok := api.(Putter); ok {
		return p.PutItems(ctx, ins)
	}
	errs := make([]error, len(ins))
	if atOnce = min(atOnce, len(ins)); atOnce <= 1 {
		for i, in := range ins {
			_, errs[i] = api.PutItem(ctx, in)
		}
		return errs
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range atOnce {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(ins); i = int(next.Add(1)) - 1 {
				_, errs[i] = api.PutItem(ctx, ins[i])
			}
		})
	}
	wait.Wait()
	return errs
}
