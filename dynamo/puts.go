package dynamo

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Putter is an optional interface of an API that makes many puts cheaper. The embedded engine
// implements it, which saves callers a goroutine and a log sync per item; DynamoDB's client does
// not.
type Putter interface {
	// PutItems performs a PutItem for each input and returns the error of each. Puts are
	// independent and in any order, except that inputs with the same key keep their order. A
	// failure of the store may affect several puts. When PutItems returns, successful puts are
	// durable, and no references to the inputs remain, so that callers can reuse their maps.
	PutItems(ctx context.Context, ins []*dynamodb.PutItemInput) []error
}

// PutAll puts items with PutItems, if the API has it, or with at most atOnce concurrent PutItem
// calls. It returns the error of each put.
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
