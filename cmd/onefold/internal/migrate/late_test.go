package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/onefold/internal/migrate"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// pausing is the API of a process that is suspended at times, for any duration, before or after a
// request reaches the table.
type pausing struct {
	dynamo.API
	mu     sync.Mutex
	random *rand.Rand
}

func (p *pausing) pause() {
	p.mu.Lock()
	long := time.Duration(p.random.IntN(20)) * time.Millisecond
	if p.random.IntN(12) == 0 {
		long = time.Duration(p.random.IntN(40)) * time.Second
	}
	p.mu.Unlock()
	time.Sleep(long)
}

func (p *pausing) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	p.pause()
	defer p.pause()
	return p.API.PutItem(ctx, in, o...)
}

func (p *pausing) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	p.pause()
	defer p.pause()
	return p.API.GetItem(ctx, in, o...)
}

// create stores a fact once, however often it is sent, and reports whether it may be acknowledged.
func create(ctx context.Context, api dynamo.API, name string) bool {
	_, err := api.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(products.TableName), ConditionExpression: aws.String("attribute_not_exists(pk)"), Item: table.Item{
		"pk": &types.AttributeValueMemberS{Value: "P#" + name}, "sk": &types.AttributeValueMemberS{Value: "S"}, "et": &types.AttributeValueMemberS{Value: "test.e"},
	}})
	return err == nil || dynamo.IsConditionFailed(err)
}

// Processes that do not know of a migration, and are suspended at any time for any duration,
// acknowledge nothing that is missing in the new store in the end. Nobody stops them, and they can
// rely only on their own clock.
func TestWhatIsAcknowledgedIsMoved(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	acknowledged, refused := 0, 0
	for round := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, round))
			from, to := memory(t, "source", rolling), memory(t, "target", rolling)
			from.Shared = true
			var writing sync.WaitGroup
			var mu sync.Mutex
			acked := map[string]bool{}
			for process := range uint64(3) {
				p := &pausing{API: from.API, random: rand.New(rand.NewPCG(seed, 100*round+process+1))}
				api := migration.Guard(p, from.Table)
				for client := range 2 {
					writing.Go(func() {
						for n := range 150 {
							name := fmt.Sprint(process, client, n)
							for range 3 { // as a client retries
								if ok := create(t.Context(), api, name); ok {
									mu.Lock()
									acked[name] = true
									mu.Unlock()
									break
								}
							}
						}
					})
				}
			}
			time.Sleep(time.Duration(random.IntN(600)) * time.Second)
			unhurried := func(o *migrate.Options) { o.Sleep, o.Trust = nil, true }
			mustFollow(t, mustBegin(t, from, to, unhurried))
			for {
				_, err := mustBegin(t, from, to, unhurried).Finish(t.Context())
				if err == nil {
					break
				}
				if !errors.Is(err, migrate.ErrBusy) { // other processes may still write: retry
					t.Fatal(err)
				}
			}
			writing.Wait()
			have := contents(t, to.API)
			for name := range acked {
				if have["P#"+name+" S"] == nil {
					t.Errorf("round %d: %s was acknowledged, and is not at the new place", round, name)
				}
			}
			acknowledged += len(acked)
			refused += 900 - len(acked)
		})
	}
	t.Logf("%d acknowledged, %d refused", acknowledged, refused)
}

// A source that was closed for a migration that failed can be used again. If a process was killed
// in between, it is reopened by hand.
func TestWhatIsNotFinishedIsOpenedAgain(t *testing.T) {
	from, to := memory(t, "source", rolling), memory(t, "target", rolling)
	from.Shared = true
	put(t, from.API, "a", "1")
	m := mustBegin(t, from, to, nil)
	mustFollow(t, m)
	put(t, to.API, "foreign", "2")
	_, err := m.Finish(t.Context())
	mustBe(t, err, migrate.ErrDiffers)
	mustBe(t, migration.Check(t.Context(), from.API, from.Table), nil)
	source := table.New(from.API, from.Table, table.Options{})
	if err := migration.States.Put(t.Context(), source, &migration.State{Phase: migration.Leaving, Owner: "killed"}); err != nil {
		t.Fatal(err)
	}
	mustBe(t, migration.Check(t.Context(), from.API, from.Table), migration.ErrAway)
	_, err = mustBegin(t, from, to, nil).Finish(t.Context()) // it continues there, and fails in the same way
	mustBe(t, err, migrate.ErrDiffers)
	if err := migration.States.Put(t.Context(), source, &migration.State{Phase: migration.Leaving, Owner: "killed"}); err != nil {
		t.Fatal(err)
	}
	mustBe(t, migrate.Reopen(t.Context(), from), nil)
	mustBe(t, migration.Check(t.Context(), from.API, from.Table), nil)
}
