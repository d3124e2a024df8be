package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

// registers is the state of the sequential model: the value of each of three items. 0 means that
// the item does not exist.
type registers [3]int

// registerCall is one request of a history and its answer.
type registerCall struct {
	name string
	at   []int // the registers that the request uses
	old  []int // the values they must have; -1 if none is required
	new  []int // the values they get; 0 deletes, -1 leaves the value unchanged
	read registers
	done bool // the condition did not refuse it
}

// step reports whether the model can give the same answer as the database.
func (c *registerCall) step(s registers) (bool, registers) {
	if c.new == nil {
		for _, k := range c.at {
			if c.read[k] != s[k] {
				return false, s
			}
		}
		return true, s
	}
	holds := true
	next := s
	for i, k := range c.at {
		holds = holds && (c.old[i] < 0 || c.old[i] == s[k])
		if c.new[i] >= 0 {
			next[k] = c.new[i]
		}
	}
	if !c.done {
		return !holds, s
	}
	return holds, next
}

var registerModel = porcupine.Model{
	Init: func() any { return registers{} },
	Step: func(state, input, _ any) (bool, any) {
		return input.(*registerCall).step(state.(registers))
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", *input.(*registerCall)) },
}

// TestLinearizable records the answers that concurrent clients get for conditional writes,
// transactions and consistent reads, and checks every history. There must be an order of the
// requests, consistent with their times, that explains all answers.
func TestLinearizable(t *testing.T) {
	histories := 150
	if testing.Short() {
		histories = 20
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, o := range []engine.Options{{}, {RollEvery: 3, StreamShards: 2}} {
		db := memory(t, o)
		for h := range histories {
			table := fmt.Sprintf("history-%d", h)
			must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput(table)))
			history := recordHistory(t, db, table, rand.New(rand.NewPCG(seed, uint64(h))))
			if r := porcupine.CheckOperationsTimeout(registerModel, history, time.Minute); r != porcupine.Ok {
				t.Fatalf("history %d of seed %d: %s\n%s", h, seed, r, describeHistory(history))
			}
		}
	}
}

// TestLinearizableChecks makes sure that the check detects a wrong answer: a stale read after a
// write has returned.
func TestLinearizableChecks(t *testing.T) {
	write := &registerCall{name: "put", at: []int{0}, old: []int{-1}, new: []int{1}, done: true}
	stale := &registerCall{name: "get", at: []int{0}}
	history := []porcupine.Operation{{Input: write, Call: 1, Return: 2}, {ClientId: 1, Input: stale, Call: 3, Return: 4}}
	if porcupine.CheckOperations(registerModel, history) {
		t.Error("a stale read passes for linearizable")
	}
}

func describeHistory(history []porcupine.Operation) string {
	var b strings.Builder
	for _, op := range history {
		fmt.Fprintf(&b, "client %d [%d, %d] %+v\n", op.ClientId, op.Call, op.Return, *op.Input.(*registerCall))
	}
	return b.String()
}

func recordHistory(t *testing.T, db *engine.DB, table string, rng *rand.Rand) []porcupine.Operation {
	const clients, each = 6, 12
	var mu sync.Mutex
	var history []porcupine.Operation
	var wg sync.WaitGroup
	began := time.Now()
	for client := range clients {
		own := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		wg.Go(func() {
			for range each {
				c := randomCall(own)
				call := time.Since(began).Nanoseconds()
				err := c.send(db, table)
				op := porcupine.Operation{ClientId: client, Input: c, Call: call, Return: time.Since(began).Nanoseconds()}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				history = append(history, op)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return history
}

func randomCall(rng *rand.Rand) *registerCall {
	k, other := rng.IntN(3), 0
	for other = rng.IntN(3); other == k; {
		other = rng.IntN(3)
	}
	value := func() int { return rng.IntN(3) }
	switch rng.IntN(7) {
	case 0:
		return &registerCall{name: "get", at: []int{k}}
	case 1:
		return &registerCall{name: "transact get", at: []int{0, 1, 2}}
	case 2:
		return &registerCall{name: "query", at: []int{0, 1, 2}}
	case 3:
		return &registerCall{name: "put", at: []int{k}, old: []int{-1}, new: []int{1 + value()}}
	case 4:
		return &registerCall{name: "create", at: []int{k}, old: []int{0}, new: []int{1 + value()}}
	case 5:
		return &registerCall{name: "swap", at: []int{k}, old: []int{1 + value()}, new: []int{value()}}
	}
	return &registerCall{name: "transact", at: []int{k, other}, old: []int{value(), value()}, new: []int{value(), value()}}
}

func registerKey(k int) item { return item{"pk": str("registers"), "sk": str(fmt.Sprint(k))} }

func (c *registerCall) send(db *engine.DB, table string) error {
	ctx := context.Background()
	if c.new == nil {
		return c.sendRead(ctx, db, table)
	}
	var err error
	switch {
	case len(c.at) > 1:
		_, err = db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{c.action(table, 0), c.action(table, 1)}})
	case c.new[0] == 0:
		condition, values := c.condition(0)
		_, err = db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: registerKey(c.at[0]), ConditionExpression: condition, ExpressionAttributeValues: values})
	default:
		condition, values := c.condition(0)
		_, err = db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: c.itemAfter(0), ConditionExpression: condition, ExpressionAttributeValues: values})
	}
	c.done = err == nil
	if _, cancelled := dynamo.CancellationReasons(err); cancelled || dynamo.IsConditionFailed(err) {
		return nil
	}
	return err
}

func (c *registerCall) itemAfter(i int) item {
	it := registerKey(c.at[i])
	it["v"] = number(c.new[i])
	return it
}

// condition returns what the i-th register must contain before the request.
func (c *registerCall) condition(i int) (*string, item) {
	switch {
	case c.old[i] < 0:
		return nil, nil
	case c.old[i] == 0:
		return ptr("attribute_not_exists(pk)"), nil
	}
	return ptr("v = :old"), item{":old": number(c.old[i])}
}

func (c *registerCall) action(table string, i int) types.TransactWriteItem {
	condition, values := c.condition(i)
	if c.new[i] == 0 {
		return types.TransactWriteItem{Delete: &types.Delete{TableName: &table, Key: registerKey(c.at[i]), ConditionExpression: condition, ExpressionAttributeValues: values}}
	}
	return types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: c.itemAfter(i), ConditionExpression: condition, ExpressionAttributeValues: values}}
}

func (c *registerCall) sendRead(ctx context.Context, db *engine.DB, table string) error {
	switch c.name {
	case "get":
		out, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: registerKey(c.at[0]), ConsistentRead: ptr(true)})
		if err != nil {
			return err
		}
		return c.saw(c.at[0], out.Item)
	case "query":
		out, err := db.Query(ctx, &dynamodb.QueryInput{TableName: &table, ConsistentRead: ptr(true),
			KeyConditionExpression: ptr("pk = :p"), ExpressionAttributeValues: item{":p": str("registers")}})
		if err != nil {
			return err
		}
		for _, it := range out.Items {
			k := int(it["sk"].(*types.AttributeValueMemberS).Value[0] - '0')
			err = errors.Join(err, c.saw(k, it))
		}
		return err
	}
	in := &dynamodb.TransactGetItemsInput{}
	for _, k := range c.at {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &table, Key: registerKey(k)}})
	}
	out, err := db.TransactGetItems(ctx, in)
	if err != nil {
		return err
	}
	for i, r := range out.Responses {
		err = errors.Join(err, c.saw(c.at[i], r.Item))
	}
	return err
}

func (c *registerCall) saw(k int, it item) error {
	if it == nil {
		return nil
	}
	v, ok := it["v"].(*types.AttributeValueMemberN)
	if !ok {
		return fmt.Errorf("register %d holds %v", k, it)
	}
	_, err := fmt.Sscan(v.Value, &c.read[k])
	return err
}
