package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine"
)

func TestSizes(t *testing.T) {
	ctx := context.Background()
	db := variety(t)
	sum := checkClean(t, db)
	s := must[*engine.Sizes](t)(db.Sizes(ctx, true))
	var items, entries, expiry, records int64
	for _, table := range s.Tables {
		items += table.Rows
		expiry += table.Expiry.Rows
		for _, x := range table.Indexes {
			entries += x.Rows
		}
		described := must[*dynamodb.DescribeTableOutput](t)(db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table.Name})).Table
		if *described.ItemCount != table.Rows || *described.TableSizeBytes != table.Bytes {
			t.Errorf("%s: %+v, described as %d items of %d bytes", table.Name, table.Size, *described.ItemCount, *described.TableSizeBytes)
		}
	}
	for _, stream := range s.Streams {
		records += stream.Rows
	}
	if items != sum.Items || entries != sum.IndexRows || expiry != sum.ExpiryRows || records != sum.Records || s.Tokens.Rows != 2*sum.Tokens || s.Catalog.Rows == 0 {
		t.Errorf("sizes %+v, checked %+v", s, sum)
	}
	quick := must[*engine.Sizes](t)(db.Sizes(ctx, false))
	if quick.Tables[1].Rows != s.Tables[1].Rows || quick.Tables[1].Bytes != s.Tables[1].Bytes || quick.Tables[1].Indexes[0].Rows != -1 || quick.Tokens.Rows != -1 {
		t.Errorf("without counting: %+v", quick)
	}
}

// TestCompact deletes nearly everything. The files must become smaller, and everything else must
// still be there.
func TestCompact(t *testing.T) {
	ctx := context.Background()
	db := must[*engine.DB](t)(engine.Open(t.TempDir(), engine.Options{TTLInterval: -1}))
	in := tableInput("table")
	in.StreamSpecification = nil
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, in))
	for i := range 2000 {
		putItem(t, db, "table", item{"pk": str(fmt.Sprint(i)), "sk": str("x"), "v": str(strings.Repeat(fmt.Sprint(i), 200))})
	}
	if err := db.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	before := must[*engine.Sizes](t)(db.Sizes(ctx, false)).Tables[0]
	for i := range 1990 {
		must[*dynamodb.DeleteItemOutput](t)(db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: ptr("table"), Key: item{"pk": str(fmt.Sprint(i)), "sk": str("x")}}))
	}
	if err := db.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	after := must[*engine.Sizes](t)(db.Sizes(ctx, false)).Tables[0]
	if before.Disk < 4<<10 || after.Disk*5 > before.Disk || after.Rows != 10 || db.DiskBytes() == 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	checkClean(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
