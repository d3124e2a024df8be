package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

func number(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

func accountKey(i int) item { return item{"pk": str(fmt.Sprint("account", i)), "sk": str("BALANCE")} }

// TestConcurrentTransfers moves money between accounts from many goroutines while others read. At every
// moment, a transactional read of all accounts must add up to the initial sum. At the end, so must
// the stream records.
func TestConcurrentTransfers(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	ctx := context.Background()
	db := memory(t, engine.Options{StreamShards: 3})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("bank")))
	const accounts, each = 6, 100
	for i := range accounts {
		it := accountKey(i)
		it["n"] = number(each)
		putItem(t, db, "bank", it)
	}
	var wg sync.WaitGroup
	for w := range 6 {
		rng := rand.New(rand.NewPCG(seed, uint64(w)))
		wg.Go(func() {
			for range 150 {
				transfer(t, db, rng.IntN(accounts), rng.IntN(accounts), 1+rng.IntN(60))
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			if sum := balances(t, db, accounts); sum != accounts*each {
				t.Errorf("the accounts hold %d, want %d", sum, accounts*each)
			}
		}
	})
	wg.Wait()
	sum := 0
	for _, it := range replay(t, db, "bank") {
		sum += intOf(t, it["n"])
	}
	if sum != accounts*each {
		t.Errorf("the records make %d, want %d", sum, accounts*each)
	}
}

// transfer moves an amount if the account has enough.
func transfer(t *testing.T, db *engine.DB, from, to, amount int) {
	if from == to {
		return
	}
	_, err := db.TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Update: &types.Update{TableName: ptr("bank"), Key: accountKey(from), UpdateExpression: ptr("SET n = n - :a"), ConditionExpression: ptr("n >= :a"), ExpressionAttributeValues: item{":a": number(amount)}}},
		{Update: &types.Update{TableName: ptr("bank"), Key: accountKey(to), UpdateExpression: ptr("SET n = n + :a"), ExpressionAttributeValues: item{":a": number(amount)}}},
	}})
	if _, cancelled := dynamo.CancellationReasons(err); err != nil && !cancelled {
		t.Error(err)
	}
}

func balances(t *testing.T, db *engine.DB, accounts int) (sum int) {
	in := &dynamodb.TransactGetItemsInput{}
	for i := range accounts {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: ptr("bank"), Key: accountKey(i)}})
	}
	out, err := db.TransactGetItems(context.Background(), in)
	if err != nil {
		t.Error(err)
		return 0
	}
	for _, r := range out.Responses {
		sum += intOf(t, r.Item["n"])
	}
	return sum
}

func intOf(t *testing.T, v types.AttributeValue) int {
	n, err := strconv.Atoi(v.(*types.AttributeValueMemberN).Value)
	if err != nil {
		t.Error(err)
	}
	return n
}

// TestConcurrentCreatesHaveOneWinner has many goroutines create the same items. Each item must have exactly one creator.
func TestConcurrentCreatesHaveOneWinner(t *testing.T) {
	ctx := context.Background()
	db := memory(t, engine.Options{})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	const items, racers = 100, 8
	var mu sync.Mutex
	won := map[int]int{}
	var wg sync.WaitGroup
	for r := range racers {
		wg.Go(func() {
			for i := range items {
				it := item{"pk": str("a"), "sk": str(strconv.Itoa(i)), "by": number(r)}
				_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("table"), Item: it, ConditionExpression: ptr("attribute_not_exists(pk)")})
				switch {
				case err == nil:
					mu.Lock()
					won[i]++
					mu.Unlock()
				case !dynamo.IsConditionFailed(err):
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range items {
		if won[i] != 1 {
			t.Errorf("item %d was created %d times", i, won[i])
		}
	}
	if n := len(streamRecords(t, db, "table")); n != items {
		t.Errorf("%d records, want %d", n, items)
	}
}
