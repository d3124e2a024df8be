package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

// longestHold is the maximum time that the folds of a benchmark hold items.
const longestHold = 30 * time.Minute

// opener returns the function that opens tables for benchmarks without a server.
func (g *globals) opener(logs io.Writer) workbench.Open {
	return func(ctx context.Context, dir string, t workbench.Time) (*workbench.Store, error) {
		folds := fold.Options{Sleep: t.Sleep}
		t.Delays.Apply(&folds)
		holds := t.Delays.Holds()
		holds.Visits = min(holds.Visits, longestHold)
		return g.open(ctx, logs, dir, engine.Options{Clock: t.Clock}, folds, holds)
	}
}

// open opens the table in a directory as onefold does. A new table is created.
func (g *globals) open(ctx context.Context, logs io.Writer, dir string, o engine.Options, folds fold.Options, holds delays.Holds) (*workbench.Store, error) {
	o.Logger = g.logger(logs)
	folds.Group, folds.Logger = products.Group, o.Logger
	opened, err := storeurl.Location{Dir: dir}.Open(ctx, o, false)
	if err != nil {
		return nil, err
	}
	t := table.New(explore.Watch(opened.API), opened.Table, table.Options{Clock: o.Clock})
	described, err := opened.API.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &opened.Table})
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	source := streamsource.New(opened.Streams, aws.ToString(described.Table.LatestStreamArn))
	worker, err := fold.NewWorker(t, source, products.Folds(t, holds), folds)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &workbench.Store{DB: opened.Engine, Table: t, Worker: worker, Accounts: accounts.New(t, accounts.Options{})}, nil
}
