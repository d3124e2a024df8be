package dump_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/cmd/onefold/internal/dump"
	"github.com/onefold/onefold/dynamo"
)

// stalled is a database that blocks until it is released.
type stalled struct {
	dynamo.API
	letGo   chan struct{}
	largest atomic.Int64 // largest batch, in bytes of values
}

func (s *stalled) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{KeySchema: keys("pk", "sk")}}, nil
}

func (s *stalled) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	<-s.letGo
	size := 0
	for _, r := range in.RequestItems["table"] {
		size += len(r.PutRequest.Item["v"].(*types.AttributeValueMemberS).Value)
	}
	for before := s.largest.Load(); int64(size) > before && !s.largest.CompareAndSwap(before, int64(size)); before = s.largest.Load() {
	}
	return &dynamodb.BatchWriteItemOutput{}, nil
}

// manyLarge is a reader of lines with large items.
type manyLarge struct {
	lines, at int
	value     string
	left      string
	read      atomic.Int64
}

func (r *manyLarge) Read(b []byte) (int, error) {
	if r.left == "" {
		if r.at == r.lines {
			return 0, io.EOF
		}
		r.left = fmt.Sprintf(`{"Item":{"pk":{"S":"p%d"},"sk":{"N":"1"},"v":{"S":"%s"}}}`+"\n", r.at, r.value)
		r.at++
	}
	n := copy(b, r.left)
	r.left = r.left[n:]
	r.read.Add(int64(n))
	return n, nil
}

// TestLargeItemsWait checks that an import into a blocked database reads no more than the queue may
// hold, continues when the database is released, and sends no batch above DynamoDB's limit.
func TestLargeItemsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, slack, lines = 64 << 20, 2 << 20, 250
		api := &stalled{letGo: make(chan struct{})}
		in := &manyLarge{lines: lines, value: strings.Repeat("x", 400<<10)}
		m := dump.Import{API: api, Table: "table", Writers: 8, Stdin: in}
		sources, err := dump.Sources([]string{"-"})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		var sum dump.Imported
		go func() { var err error; sum, err = m.Run(t.Context(), sources); done <- err }()
		synctest.Wait()
		if read := in.read.Load(); read < most-slack || read > most+slack {
			t.Errorf("%d bytes were read while none were taken, want about %d", read, most)
		}
		close(api.letGo)
		if err := <-done; err != nil || sum.Items != lines {
			t.Errorf("%+v, %v", sum, err)
		}
		if largest := api.largest.Load(); largest > 8<<20 {
			t.Errorf("a batch has %d bytes", largest)
		}
	})
}
