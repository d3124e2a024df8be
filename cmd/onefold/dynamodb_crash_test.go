package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

// killWriter increments a counter item, and puts another item for each number in the same
// transaction.
type killWriter struct {
	client      *dynamodb.Client
	id          int
	sent, acked int
}

func (w *killWriter) counter() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: fmt.Sprintf("COUNTER#%d", w.id)}}
}

func (w *killWriter) event(n int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: fmt.Sprintf("EVENT#%d#%d", w.id, n)}}
}

// write writes the next number.
func (w *killWriter) write(ctx context.Context) error {
	n := w.acked + 1
	w.sent = n
	_, err := w.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Update: &types.Update{TableName: aws.String("Music"), Key: w.counter(), UpdateExpression: aws.String("SET n = :n"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: strconv.Itoa(n)}}}},
		{Put: &types.Put{TableName: aws.String("Music"), Item: w.event(n)}},
	}})
	if err == nil {
		w.acked = n
	}
	return err
}

// check checks that acknowledged writes exist, and that no transaction is partial.
func (w *killWriter) check(t *testing.T) {
	out, err := w.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("Music"), Key: w.counter()})
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	if n, ok := out.Item["n"].(*types.AttributeValueMemberN); ok {
		if stored, err = strconv.Atoi(n.Value); err != nil {
			t.Fatal(err)
		}
	}
	if stored < w.acked || stored > w.sent {
		t.Errorf("writer %d: the counter is %d, %d was acknowledged and %d sent", w.id, stored, w.acked, w.sent)
	}
	for n := max(1, stored-3); n <= w.sent+1; n++ {
		out, err := w.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("Music"), Key: w.event(n)})
		if err != nil {
			t.Fatal(err)
		}
		if there := out.Item != nil; there != (n <= stored) {
			t.Errorf("writer %d: the counter is %d, and event %d is there: %v", w.id, stored, n, there)
		}
	}
	w.acked = stored
}

// TestDynamodbKilled kills a server with SIGKILL during transactions of concurrent clients. After
// the restart all acknowledged writes exist, no transaction is partial, and check finds no
// inconsistencies.
func TestDynamodbKilled(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"--data", data, "--region", "eu-central-1"}
	writers := make([]*killWriter, 6)
	for i := range writers {
		writers[i] = &killWriter{id: i}
	}
	s := serveDynamodb(t, args...)
	createMusic(t, s.dynamodb(testKeyID, testKeySecret))
	for range 3 {
		killUnderWrites(t, s, writers, 50+rng.IntN(400))
		if code, told := fails("dynamodb", "check", "--data", data); code != 0 {
			t.Errorf("check answers %d: %s", code, told)
		}
		s = serveDynamodb(t, args...)
		for _, w := range writers {
			w.client = s.dynamodb(testKeyID, testKeySecret)
			w.check(t)
		}
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// killUnderWrites kills the server after so many acknowledged writes, while others are running.
func killUnderWrites(t *testing.T, s *served, writers []*killWriter, after int) {
	var acknowledged atomic.Int64
	enough := make(chan struct{})
	var once sync.Once
	var wait sync.WaitGroup
	for _, w := range writers {
		w.client = s.dynamodb(testKeyID, testKeySecret)
		wait.Go(func() {
			for {
				err := w.write(t.Context())
				if dynamo.Code(err) != "" { // rejected by the server; an error of a broken connection has no code
					t.Errorf("writer %d: %v", w.id, err)
				}
				if err != nil {
					once.Do(func() { close(enough) })
					return
				}
				if acknowledged.Add(1) == int64(after) {
					once.Do(func() { close(enough) })
				}
			}
		})
	}
	<-enough
	_ = s.end(t, syscall.SIGKILL) // that it was killed
	wait.Wait()
}
