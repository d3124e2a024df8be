// Command sessions prints the latest visits of a site. It is the program of the README.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

func main() {
	if err := run(context.Background(), "onefold-data"); err != nil { // what the commands above have filled
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) error {
	db, err := engine.Open(dir, engine.Options{}) // a dynamo.API: for code that takes the methods of *dynamodb.Client
	if err != nil {
		return err
	}
	defer db.Close()
	if err := analytics.Schema.Ensure(ctx, db, "onefold"); err != nil { // creates the table if it does not exist
		return err
	}
	t := table.New(db, "onefold", table.Options{})
	for s, err := range analytics.RecentSessions(ctx, t, "blog") {
		if err != nil {
			return err
		}
		fmt.Println(time.UnixMilli(s.Start).UTC().Format(time.DateTime), s.EntryPath, s.PageViews)
	}
	return nil
}
