package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/onefold/internal/migrate"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// memory opens a table in memory, whose stream has several shards that roll.
func memory(t *testing.T, name string, o engine.Options) migrate.Store {
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
	if err := products.Schema.Ensure(t.Context(), db, products.TableName); err != nil {
		t.Fatal(err)
	}
	return migrate.Store{Opened: &storeurl.Opened{API: db, Streams: db, Table: products.TableName}, Name: name}
}

var rolling = engine.Options{StreamShards: 3, RollEvery: 1500}

// faulty is an API whose batch writes fail at times, and which dies after a number of them.
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
	case 1: // the response is lost
		if _, err := f.API.BatchWriteItem(ctx, in, o...); err != nil {
			return nil, err
		}
		return nil, errDead
	case 2: // a part is unprocessed
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

// scribble makes random writes and deletions, of which the last ones count.
func scribble(ctx context.Context, t *testing.T, api dynamo.API, random *rand.Rand, n int) {
	t.Helper()
	for i := 0; i < n && ctx.Err() == nil; i++ {
		key := table.Item{
			"pk": &types.AttributeValueMemberS{Value: fmt.Sprint("P#", random.IntN(40))},
			"sk": &types.AttributeValueMemberS{Value: fmt.Sprint("S#", random.IntN(25))},
		}
		if random.IntN(4) == 0 {
			if _, err := api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(products.TableName), Key: key}); err != nil && ctx.Err() == nil {
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
		if _, err := api.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(products.TableName), Item: key}); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
}

// contents returns the items of a table that a migration copies, without marks.
func contents(t *testing.T, api dynamo.API) map[string]table.Item {
	t.Helper()
	all := map[string]table.Item{}
	in := &dynamodb.ScanInput{TableName: aws.String(products.TableName), ConsistentRead: aws.Bool(true)}
	for {
		out, err := api.Scan(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range out.Items {
			entity := it["et"].(*types.AttributeValueMemberS).Value
			if entity == migration.States.Name() || entity == migration.Fences.Name() || entity == fold.Checkpoints.Name() || entity == lease.Leases.Name() {
				continue
			}
			if ttl, err := strconv.ParseInt(text(it["ttl"]), 10, 64); err == nil && ttl <= time.Now().Unix() {
				continue // either store may have deleted it
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

var hurried = migrate.Options{
	Segments: 3, TakeOver: true, Logger: slog.New(slog.DiscardHandler),
	Sleep: func(ctx context.Context, d time.Duration) error { return backoff.For(ctx, d/100) },
}

// A migration dies again and again, to a store that throttles and loses responses, while the table
// keeps changing. The two tables are equal in the end.
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
				_ = backoff.For(ctx, 5*time.Millisecond) // so that the migration gets its turn
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
		end := migrate.Store{Opened: &storeurl.Opened{API: api, Streams: to.Streams, Table: to.Table}, Name: to.Name}
		m, err := migrate.Begin(life, from, end, hurried)
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
	m, err := migrate.Begin(t.Context(), from, to, hurried)
	if err != nil {
		t.Fatal(err)
	}
	d, err := m.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d deaths, %d items compared", deaths-1, d.Compared.Items)
	mustEqual(t, from.API, to.API)
	if err := migration.Check(t.Context(), from.API, from.Table); !errors.Is(err, migration.ErrAway) {
		t.Errorf("the source says %v", err)
	}
	if err := migration.Check(t.Context(), to.API, to.Table); err != nil {
		t.Errorf("the target says %v", err)
	}
}

// put writes an item that a migration copies.
func put(t *testing.T, api dynamo.API, name, value string) {
	t.Helper()
	_, err := api.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(products.TableName), Item: table.Item{
		"pk": &types.AttributeValueMemberS{Value: "P#" + name}, "sk": &types.AttributeValueMemberS{Value: "S"},
		"et": &types.AttributeValueMemberS{Value: "test.e"}, "text": &types.AttributeValueMemberS{Value: value},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, from, to migrate.Store, change func(*migrate.Options)) (*migrate.Move, error) {
	t.Helper()
	o := hurried
	if change != nil {
		change(&o)
	}
	return migrate.Begin(t.Context(), from, to, o)
}

func mustBegin(t *testing.T, from, to migrate.Store, change func(*migrate.Options)) *migrate.Move {
	t.Helper()
	m, err := begin(t, from, to, change)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustFollow(t *testing.T, m *migrate.Move) {
	t.Helper()
	err := m.Copy(t.Context())
	if err == nil {
		err = m.Follow(t.Context(), func() bool { return true })
	}
	if err != nil {
		t.Fatal(err)
	}
}

func mustBe(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A migration overwrites nothing, and only one process at a time runs it.
func TestMoveRefuses(t *testing.T) {
	from, to := memory(t, "source", rolling), memory(t, "target", rolling)
	put(t, from.API, "a", "1")
	put(t, to.API, "b", "2")
	_, err := begin(t, from, to, nil)
	mustBe(t, err, migrate.ErrNotEmpty)
	to = memory(t, "target", rolling)
	m := mustBegin(t, from, to, nil)
	_, err = m.Finish(t.Context())
	mustBe(t, err, migrate.ErrNoMove)
	mustBe(t, migration.Check(t.Context(), to.API, to.Table), migration.ErrUnfinished)
	_, err = begin(t, from, to, func(o *migrate.Options) { o.TakeOver = false })
	mustBe(t, err, migrate.ErrInProgress)
	other := memory(t, "other", engine.Options{Clock: func() time.Time { return time.Now().Add(time.Minute) }}) // another stream
	put(t, other.API, "c", "3")
	_, err = begin(t, other, to, nil)
	mustBe(t, err, migrate.ErrNotEmpty)
	_, err = begin(t, to, memory(t, "third", rolling), nil) // a partly filled table cannot be a source
	mustBe(t, err, migration.ErrUnfinished)
	second := mustBegin(t, from, to, nil)
	mustBe(t, m.Copy(t.Context()), migrate.ErrTakenOver)
	mustFollow(t, second)
	if err := second.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustBegin(t, from, to, func(o *migrate.Options) { o.TakeOver = false })
}

// writesOnScan writes to a table when it is read for the comparison.
type writesOnScan struct {
	dynamo.API
	write func()
	once  sync.Once
}

func (w *writesOnScan) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	w.once.Do(w.write)
	return w.API.Scan(ctx, in, o...)
}

// A write during the comparison is detected, and copied by the next attempt. Differences are
// reported, and repaired by a new copy, which deletes items that the source does not have.
func TestFinishFindsOut(t *testing.T) {
	from, to := memory(t, "source", rolling), memory(t, "target", rolling)
	put(t, from.API, "a", "1")
	busy := migrate.Store{Opened: &storeurl.Opened{Streams: from.Streams, Table: from.Table}, Name: from.Name}
	mustFollow(t, mustBegin(t, from, to, nil))
	busy.API = &writesOnScan{API: from.API, write: func() { put(t, from.API, "late", "2") }}
	_, err := mustBegin(t, busy, to, nil).Finish(t.Context())
	mustBe(t, err, migrate.ErrBusy)
	mustBe(t, migration.Check(t.Context(), to.API, to.Table), migration.ErrUnfinished)
	put(t, to.API, "foreign", "3")
	_, err = mustBegin(t, from, to, nil).Finish(t.Context())
	mustBe(t, err, migrate.ErrDiffers)
	m := mustBegin(t, from, to, func(o *migrate.Options) { o.Restart = true })
	mustFollow(t, m)
	if _, err := m.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, from.API, to.API)
	if got := contents(t, to.API); len(got) != 2 {
		t.Errorf("%d items, want 2", len(got))
	}
	again := mustBegin(t, from, to, nil) // finishing again has no effect
	if _, err := again.Finish(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = begin(t, from, memory(t, "third", rolling), nil)
	mustBe(t, err, migration.ErrAway)
}

// A migration that was interrupted for a day starts again.
func TestMoveAfterADay(t *testing.T) {
	from, to := memory(t, "source", rolling), memory(t, "target", rolling)
	put(t, from.API, "a", "1")
	put(t, from.API, "gone", "1")
	mustFollow(t, mustBegin(t, from, to, nil))
	key := table.Item{"pk": &types.AttributeValueMemberS{Value: "P#gone"}, "sk": &types.AttributeValueMemberS{Value: "S"}}
	if _, err := from.API.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &from.Table, Key: key}); err != nil {
		t.Fatal(err)
	}
	late := func(o *migrate.Options) { o.Clock = func() time.Time { return time.Now().Add(25 * time.Hour) } }
	_, err := begin(t, from, to, late)
	mustBe(t, err, migrate.ErrTrimmed)
	m := mustBegin(t, from, to, func(o *migrate.Options) { late(o); o.Restart = true })
	mustFollow(t, m)
	if _, err := m.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, from.API, to.API)
}

// A shard that was empty when the items were copied has no position that could be found expired.
// The time since the last read tells that changes may be lost.
func TestFollowAfterACopyOfADay(t *testing.T) {
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	later := func(o *migrate.Options) { o.Clock = clock }
	from, to := memory(t, "source", engine.Options{Clock: clock}), memory(t, "target", engine.Options{})
	m := mustBegin(t, from, to, later)
	if err := m.Copy(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, from.API, "a", "1")
	ahead.Store(int64(25 * time.Hour))
	put(t, from.API, "b", "2")
	mustBe(t, m.Follow(t.Context(), func() bool { return true }), migrate.ErrTrimmed)
	m = mustBegin(t, from, to, func(o *migrate.Options) { later(o); o.Restart = true })
	mustFollow(t, m)
	mustEqual(t, from.API, to.API)
}

// In every shard, the checkpoints of the target's folds are after everything copied.
func TestCheckpointsAreBehindTheCopies(t *testing.T) {
	from, to := memory(t, "source", rolling), memory(t, "target", engine.Options{StreamShards: 3, RollEvery: 100})
	random := rand.New(rand.NewPCG(1, 2))
	scribble(t.Context(), t, from.API, random, 1500)
	m := mustBegin(t, from, to, nil)
	mustFollow(t, m)
	if _, err := m.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustBeBehind(t, to)
}

// mustBeBehind fails if a checkpoint of the table's folds is before a copied change.
func mustBeBehind(t *testing.T, to migrate.Store) {
	t.Helper()
	tbl := table.New(to.API, to.Table, table.Options{})
	described, err := to.API.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &to.Table})
	if err != nil {
		t.Fatal(err)
	}
	stream := streamsource.New(to.Streams, *described.Table.LatestStreamArn)
	shards, err := stream.Shards(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shards {
		c, err := fold.Checkpoints.Get(t.Context(), tbl, fold.CheckpointKey{Group: products.Group, Shard: s.ID})
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			t.Fatal(err)
		}
		if c.Done {
			continue
		}
		b, err := stream.Read(t.Context(), fold.ReadRequest{Shard: s.ID, After: fold.Sequence(c.Position), Max: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range b.Changes {
			if entity := text(change.New["et"]); entity != migration.States.Name() && entity != fold.Checkpoints.Name() && entity != migration.Fences.Name() {
				t.Errorf("shard %s: %s at %s is behind the checkpoint %q", s.ID, entity, change.Seq, c.Position)
			}
		}
	}
	t.Logf("%d shards", len(shards))
}

// A source that was reopened after its migration does not count as moved.
func TestMoveAgain(t *testing.T) {
	from, to := memory(t, "source", rolling), memory(t, "target", rolling)
	put(t, from.API, "a", "1")
	m := mustBegin(t, from, to, nil)
	mustFollow(t, m)
	if d, err := m.Finish(t.Context()); err != nil || !d.Before.IsZero() {
		t.Fatal(d.Before, err)
	}
	if d, err := mustBegin(t, from, to, nil).Finish(t.Context()); err != nil || d.Before.IsZero() {
		t.Errorf("finished before at %v: %v", d.Before, err)
	}
	if err := migrate.Reopen(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	put(t, from.API, "b", "2")
	_, err := begin(t, from, to, nil)
	mustBe(t, err, migrate.ErrNotEmpty)
	mustBe(t, migration.Check(t.Context(), from.API, from.Table), nil)
}

// A migration does not finish while a worker holds a lease.
func TestFinishWhileWorkersRead(t *testing.T) {
	from, to := memory(t, "source", rolling), memory(t, "target", rolling)
	from.Shared = true
	put(t, from.API, "a", "1")
	m := mustBegin(t, from, to, nil)
	mustFollow(t, m)
	source := table.New(from.API, from.Table, table.Options{})
	l := lease.Lease{Key: lease.Key{Group: products.Group, Shard: "shard-1"}, Owner: "w2", Turn: 1, For: time.Minute, At: time.Now()}
	if err := lease.Leases.Put(t.Context(), source, &l); err != nil {
		t.Fatal(err)
	}
	_, err := m.Finish(t.Context())
	mustBe(t, err, migrate.ErrBusy)
	if err == nil || !strings.Contains(err.Error(), "w2") {
		t.Errorf("the worker is not named: %v", err)
	}
	mustBe(t, migration.Check(t.Context(), from.API, from.Table), nil)
	l.Owner = "" // released
	if err := lease.Leases.Put(t.Context(), source, &l); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Finish(t.Context()); err != nil {
		t.Error(err)
	}
}

// throttled returns throttling errors for a few reads of a stream.
type throttled struct {
	dynamo.Streams
	left atomic.Int64
}

func (s *throttled) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	if s.left.Add(-1) >= 0 {
		return nil, &dynamo.Failure{Kind: dynamo.Throttled, After: time.Second}
	}
	return s.Streams.GetRecords(ctx, in, o...)
}

// A stream that is throttled for a while does not end the migration.
func TestFollowBearsThrottles(t *testing.T) {
	from, to := memory(t, "source", rolling), memory(t, "target", rolling)
	put(t, from.API, "a", "1")
	streams := &throttled{Streams: from.Streams}
	from.Streams = streams
	m := mustBegin(t, from, to, nil)
	if err := m.Copy(t.Context()); err != nil {
		t.Fatal(err)
	}
	streams.left.Store(7)
	if err := m.Follow(t.Context(), func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	if left := streams.left.Load(); left > 0 {
		t.Errorf("%d refusals were not met", left)
	}
	mustEqual(t, from.API, to.API)
}

func TestCommandRefuses(t *testing.T) {
	for want, c := range map[string]migrate.Command{
		"bad_store: give":  {From: "embedded:a", Segments: 8},
		"bad_store: a m":   {From: "memory:", To: "embedded:a", Segments: 8},
		"bad_store: a me":  {From: "embedded:a", To: "memory:", Segments: 8},
		"bad_store: \"b\"": {From: "embedded:a", To: "b", Segments: 8},
		"bad_store: --fr":  {From: "embedded:a", To: "embedded:./a/", Segments: 8},
		"bad_finish: ":     {From: "embedded:a", To: "embedded:b", Segments: 8, Finish: true, FinishFrom: "embedded:a"},
	} {
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}
