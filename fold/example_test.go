package fold_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// Orders are facts. The totals of a region are derived from them.
func Example() {
	perRegion := fold.New("totals", totals,
		func(into, delta *total) {
			into.Orders += delta.Orders
			into.Amount += delta.Amount
		},
		fold.On(orders, func(c fold.Typed[order], at func(totalKey) *total) error {
			if c.Old != nil { // changed or withdrawn: subtract what the old order had counted
				t := at(totalKey{c.Old.Region})
				t.Orders--
				t.Amount -= c.Old.Amount
			}
			if c.New != nil {
				t := at(totalKey{c.New.Region})
				t.Orders++
				t.Amount += c.New.Amount
			}
			return nil
		}),
	).With(fold.Removable(func(t *total) bool { return t.Orders == 0 }))

	ctx := context.Background()
	db, arn := openExample(ctx)
	tab := table.New(db, "table", table.Options{})
	worker, err := fold.NewWorker(tab, streamsource.New(db, arn), []*fold.Fold{perRegion}, fold.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range []order{{orderKey{"1"}, "north", 10}, {orderKey{"2"}, "north", 5}, {orderKey{"2"}, "south", 7}} {
		if err := orders.Put(ctx, tab, &o); err != nil {
			log.Fatal(err)
		}
	}
	if err := worker.Drain(ctx); err != nil { // a service would call Run
		log.Fatal(err)
	}
	for _, region := range []string{"north", "south"} {
		t, err := totals.Get(ctx, tab, totalKey{region})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Region, t.Orders, t.Amount)
	}
	// Output:
	// north 1 10
	// south 1 7
}

func openExample(ctx context.Context) (*engine.DB, string) {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := schema.Ensure(ctx, db, "table"); err != nil {
		log.Fatal(err)
	}
	out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: ptr("table")})
	if err != nil {
		log.Fatal(err)
	}
	return db, *out.Table.LatestStreamArn
}
