package moving_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/cmd/internal/assembly"
	"github.com/onefold/onefold/cmd/internal/relocation"
	"github.com/onefold/onefold/cmd/onefold/internal/moving"
	"github.com/onefold/onefold/cmd/onefold/internal/place"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/pause"
	"github.com/onefold/onefold/table"
)

// memory opens a table in memory, with a stream of several shards that roll.
func memory(t *testing.T, name string, o engine.Options) moving.Store {
	t.Helper()
	o.TTLInterval = -1
	db, err := engine.OpenMemory(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := assembly.Schema.Ensure(t.Context(), db, assembly.TableName); err != nil {
		t.Fatal(err)
	}
	return moving.Store{Opened: &place.Opened{API: db, Streams: db, Table: assembly.TableName}, Name: name}
}

var rolling = engine.Options{StreamShards: 3, RollEvery: 1500}

// faulty is an API whose writes of many items fail now and then, and which dies after a number of them.
type faulty struct {
	dynamo.API
	random *rand.Rand
	left   atomic.Int64 // writes until it dies
	die    func()

	mu sync.Mutex
}

func (f *faulty) chance(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(n)
}

var errDead = errors.New("dead")

func (f *faulty) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	if f.left.Add(-1) == 0 {
		f.die()
		return nil, context.Canceled
	}
	part := *in
	var left map[string][]types.WriteRequest
	switch f.chance(8) {
	case 0:
		return nil, &types.ProvisionedThroughputExceededException{}
	case 1: // the answer is lost
		if _, err := f.API.BatchWriteItem(ctx, in, o...); err != nil {
			return nil, err
		}
		return nil, errDead
	case 2: // a part is refused for now
		for name, requests := range in.RequestItems {
			n := f.chance(len(requests) + 1)
			left = map[string][]types.WriteRequest{name: requests[n:]}
			part.RequestItems = map[string][]types.WriteRequest{name: requests[:n]}
			if n == 0 {
				return &dynamodb.BatchWriteItemOutput{UnprocessedItems: left}, nil
			}
			if n == len(requests) {
				left = nil
			}
		}
	}
	out, err := f.API.BatchWriteItem(ctx, &part, o...)
	if err == nil {
		out.UnprocessedItems = left
	}
	return out, err
}

// scribble writes and deletes items of a table at random, of which the last writes count.
func scribble(ctx context.Context, t *testing.T, api dynamo.API, random *rand.Rand, n int) {
	t.Helper()
	for i := 0; i < n && ctx.Err() == nil; i++ {
		key := table.Item{
			"pk": &types.AttributeValueMemberS{Value: fmt.Sprint("P#", random.IntN(40))},
			"sk": &types.AttributeValueMemberS{Value: fmt.Sprint("S#", random.IntN(25))},
		}
		if random.IntN(4) == 0 {
			if _, err := api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(assembly.TableName), Key: key}); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			continue
		}
		key["et"] = &types.AttributeValueMemberS{Value: fmt.Sprint("test.e", random.IntN(3))}
		key["n"] = &types.AttributeValueMemberN{Value: strconv.Itoa(i)}
		key["text"] = &types.AttributeValueMemberS{Value: string(make([]byte, random.IntN(2000)))}
		switch random.IntN(4) {
		case 0:
			key[fold.AttrVersion] = &types.AttributeValueMemberN{Value: strconv.Itoa(i)}
			key[fold.AttrMarks] = &types.AttributeValueMemberM{Value: table.Item{"shardId-1": &types.AttributeValueMemberS{Value: strconv.Itoa(i)}}}
		case 1:
			key["ttl"] = &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(time.Duration(random.IntN(48)-2) * time.Hour).Unix())}
		}
		if _, err := api.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(assembly.TableName), Item: key}); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
}

// contents is what a table holds that a move copies, without marks.
func contents(t *testing.T, api dynamo.API) map[string]table.Item {
	t.Helper()
	all := map[string]table.Item{}
	in := &dynamodb.ScanInput{TableName: aws.String(assembly.TableName), ConsistentRead: aws.Bool(true)}
	for {
		out, err := api.Scan(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range out.Items {
			entity := it["et"].(*types.AttributeValueMemberS).Value
			if entity == relocation.States.Name() || entity == relocation.Fences.Name() || entity == fold.Checkpoints.Name() || entity == fold.Leases.Name() {
				continue
			}
			if ttl, err := strconv.ParseInt(text(it["ttl"]), 10, 64); err == nil && ttl <= time.Now().Unix() {
				continue // either may have deleted it
			}
			if _, ok := it[fold.AttrMarks]; ok {
				it[fold.AttrMarks] = nil
			}
			all[it["pk"].(*types.AttributeValueMemberS).Value+" "+it["sk"].(*types.AttributeValueMemberS).Value] = it
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return all
		}
	}
}

func mustEqual(t *testing.T, source, target dynamo.API) {
	t.Helper()
	want, got := contents(t, source), contents(t, target)
	for key, it := range want {
		if fmt.Sprint(flat(got[key])) != fmt.Sprint(flat(it)) {
			t.Errorf("%s is %v, want %v", key, flat(got[key]), flat(it))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d items, want %d", len(got), len(want))
	}
}

func flat(it table.Item) string {
	if it == nil {
		return "nothing"
	}
	return fmt.Sprint(it["et"].(*types.AttributeValueMemberS).Value, text(it["n"]), len(text(it["text"])), text(it["ttl"]), text(it[fold.AttrVersion]))
}

func text(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

var hurried = moving.Options{
	Segments: 3, TakeOver: true, Logger: slog.New(slog.DiscardHandler),
	Sleep: func(ctx context.Context, d time.Duration) error { return pause.For(ctx, d/100) },
}

// A move that dies again and again, to a store that refuses and forgets, of a table that changes all the while, ends with two equal
// tables.
func TestMoveWhileWriting(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	from, to := memory(t, "source", rolling), memory(t, "target", rolling)
	scribble(t.Context(), t, from.API, random, 3000)
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for i := range 3 {
		own := rand.New(rand.NewPCG(seed, uint64(i+2)))
		writing.Go(func() {
			for ctx.Err() == nil {
				scribble(ctx, t, from.API, own, 20)
				_ = pause.For(ctx, 5*time.Millisecond) // so that the move gets its turn
			}
		})
	}
	api := &faulty{API: to.API, random: rand.New(rand.NewPCG(seed, 9))}
	deaths := 0
	for done := false; !done; {
		life, die := context.WithCancel(t.Context())
		api.die = die
		api.left.Store(int64(1 + random.IntN(60)))
		if deaths >= 15 {
			api.left.Store(0)
		}
		end := moving.Store{Opened: &place.Opened{API: api, Streams: to.Streams, Table: to.Table}, Name: to.Name}
		m, err := moving.Begin(life, from, end, hurried)
		if err == nil {
			err = m.Copy(life)
		}
		if err == nil {
			err = m.Follow(life, func() bool { return deaths >= 15 })
		}
		if life.Err() == nil && err != nil {
			t.Fatal(err)
		}
		done = err == nil
		deaths++
		die()
	}
	stop()
	writing.Wait()
	m, err := moving.Begin(t.Context(), from, to, hurried)
	if err != nil {
		t.Fatal(err)
	}
	d, err := m.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d deaths, %d items compared", deaths-1, d.Compared.Items)
	mustEqual(t, from.API, to.API)
	if err := relocation.Check(t.Context(), from.API, from.Table); !errors.Is(err, relocation.ErrAway) {
		t.Errorf("the source says %v", err)
	}
	if err := relocation.Check(t.Context(), to.API, to.Table); err != nil {
		t.Errorf("the target says %v", err)
	}
}
