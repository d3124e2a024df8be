package eventstoretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// lossy is an API on which every third append fails, and every third succeeds without an answer. An
// append is a transaction, or a write of a head.
type lossy struct {
	dynamo.API
	mu sync.Mutex
	n  int
}

var errLost = errors.New("eventstoretest: no answer")

// lose returns what goes wrong with the next request.
func (l *lossy) lose() (before, after bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return l.n%3 == 0, l.n%3 == 1
}

func (l *lossy) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	before, after := l.lose()
	if before {
		return nil, errLost
	}
	out, err := l.API.TransactWriteItems(ctx, in, o...)
	if after && err == nil {
		return nil, errLost
	}
	return out, err
}

func (l *lossy) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if !isText(in.Item[table.AttrSK], "#METADATA") {
		return l.API.PutItem(ctx, in, o...)
	}
	before, after := l.lose()
	if before {
		return nil, errLost
	}
	out, err := l.API.PutItem(ctx, in, o...)
	if after && err == nil {
		return nil, errLost
	}
	return out, err
}

func (l *lossy) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if !isText(in.Key[table.AttrSK], "#METADATA") {
		return l.API.UpdateItem(ctx, in, o...)
	}
	before, after := l.lose()
	if before {
		return nil, errLost
	}
	out, err := l.API.UpdateItem(ctx, in, o...)
	if after && err == nil {
		return nil, errLost
	}
	return out, err
}

// An append without an answer, whether or not it happened, has one effect, and its callers learn
// which.
func unknownOutcomes(w *suite) {
	lost, err := eventstore.New(table.New(&lossy{API: w.table.API()}, w.table.Name(), table.Options{Clock: w.table.Now}), w.o)
	w.must(err)
	for i := range 12 {
		var options []eventstore.AppendOption
		if i%2 == 0 {
			options = append(options, eventstore.CommitID(fmt.Sprint("c", i)))
		}
		expected := []eventstore.Expected{eventstore.Any(), eventstore.Exact(int64(i))}[i/2%2]
		if c, err := lost.Append(w.ctx, order("1"), expected, said(fmt.Sprint("E", i)), options...); err != nil || c.First != int64(i)+1 {
			w.Errorf("append %d: %+v, %v", i, c, err)
		}
	}
	if story := w.streamText(order("1")); len(strings.Fields(story)) != 24 {
		w.Errorf("%s", story)
	}
}

// Operations that need transactions are rejected in put mode, before anything is written.
func withoutTransactions(w *suite) {
	one, err := eventstore.New(w.table, eventstore.Options{PutMode: true})
	w.must(err)
	for name, do := range map[string]func() error{
		"two aggregates": func() error {
			_, err := one.AppendAll(w.ctx, []eventstore.AppendTo{to(order("1"), eventstore.Any(), "A"), to(order("2"), eventstore.Any(), "A")})
			return err
		},
		"a value": func() error {
			_, err := one.Append(w.ctx, order("1"), eventstore.Any(), said("A"), eventstore.Reserve("s", "v"))
			return err
		},
	} {
		if err := do(); !errors.Is(err, eventstore.ErrInvalid) {
			w.Errorf("%s: %v", name, err)
		}
	}
	w.wantStream(order("1"), "")
}
