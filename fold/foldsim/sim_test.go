package foldsim_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/table"
)

func TestDerivedItemsAreTheFoldOfAllChanges(t *testing.T) {
	t.Parallel()
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{foldTotals(), foldContinents(), foldLargest(), foldMixes()},
		Write: writeOrders,
		Check: checkOrders,
	}, 1000)
}

// TestHeldItems holds items for different numbers of flushes, including none.
func TestHeldItems(t *testing.T) {
	t.Parallel()
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{
			foldTotals().With(fold.Hold(300 * time.Millisecond)), foldContinents(), foldLargest().With(fold.Hold(20 * time.Millisecond)), foldMixes(),
		},
		Write: writeOrders,
		Check: checkOrders,
	}, 1000)
}

// TestLagIsNeverUnderstated checks that no reported lag is shorter than the real one, whatever happens
// to the workers.
func TestLagIsNeverUnderstated(t *testing.T) {
	t.Parallel()
	var seen foldsim.Watched
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{foldTotals().With(fold.Hold(300 * time.Millisecond)), foldContinents(), foldLargest(), foldMixes()},
		Write: writeOrders,
		Watch: &seen,
	}, 100)
	if seen.Behind < seen.Looks/20 {
		t.Errorf("too little was seen: %+v", seen)
	}
	t.Logf("%+v", seen)
}

// TestExpectNew guesses that keys are new, whether they are new, known or
// removed, and whatever happens between the guess and the put.
func TestExpectNew(t *testing.T) {
	t.Parallel()
	always := fold.ExpectNew(0)
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{
			foldTotals().With(always), foldContinents().With(always, fold.CacheSize(-1)),
			foldLargest().With(always, fold.Hold(20*time.Millisecond)), foldMixes().With(fold.ExpectNew(0.9)),
		},
		Write: writeOrders,
		Check: checkOrders,
	}, 1000)
}

// blind is an API that overwrites existing items when the caller takes them for absent.
type blind struct{ dynamo.API }

func (b blind) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if entityOf(in.Item) == totals.Name() && in.ConditionExpression != nil && strings.HasPrefix(*in.ConditionExpression, "attribute_not_exists") {
		in.ConditionExpression = nil
	}
	return b.API.PutItem(ctx, in, o...)
}

func entityOf(it table.Item) string {
	et, ok := it[table.AttrEntity].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return et.Value
}

// TestSimulationCatchesBlindPuts shows that items that the worker takes for absent often exist.
func TestSimulationCatchesBlindPuts(t *testing.T) {
	t.Parallel()
	caught := 0
	const seeds = 30
	for seed := range uint64(seeds) {
		folds := []*fold.Fold{foldTotals().With(fold.ExpectNew(0))}
		err := foldsim.Run(foldsim.Scenario{
			Folds: folds,
			Write: writeOrders,
			Consume: func(ctx context.Context, t *table.Table, src fold.Source) error {
				worker, err := fold.NewWorker(table.New(blind{t.API()}, t.Name(), table.Options{Clock: t.Now, CursorKey: []byte("sim")}), src, folds, fold.Options{
					Group: "sim", Readers: 1, Writers: 1, FlushChanges: 5, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
					Random: func() float64 { return 0 }, Logger: slog.New(slog.DiscardHandler),
				})
				if err != nil {
					return err
				}
				return worker.Drain(ctx)
			},
		}, seed+1)
		switch {
		case err == nil:
		case strings.HasPrefix(err.Error(), "derived items are not"):
			caught++
		default:
			t.Errorf("seed %d: %v", seed+1, err)
		}
	}
	if caught < seeds/2 {
		t.Errorf("blind puts were caught with %d of %d seeds only", caught, seeds)
	}
}
