package fsck

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/table"
)

// indexed checks that an item has the correct index keys, and that the index has the item, unless
// it is so new that the index may lag.
func (a *aggregate) indexed(ctx context.Context, it, should table.Item, at time.Time) error {
	if !same(it, should, indexKeys...) {
		return a.report(Finding{
			Kind: IndexKeys, ID: a.id, Item: keysOf(it), Detail: fmt.Sprintf("its index key is %q, %q", text(it, "gsi1pk"), text(it, "gsi1sk")),
			Plan: fmt.Sprintf("set the index key to %q, %q", text(should, "gsi1pk"), text(should, "gsi1sk")), fix: a.rekey(it, should),
		})
	}
	if a.o.NoIndex || it["gsi1pk"] == nil || a.t.Now().Sub(at) < settled {
		return nil
	}
	in := &dynamodb.QueryInput{
		TableName: aws.String(a.t.Name()), IndexName: aws.String("gsi1"), KeyConditionExpression: aws.String("gsi1pk = :pk AND gsi1sk = :sk"),
		ExpressionAttributeValues: table.Item{":pk": it["gsi1pk"], ":sk": it["gsi1sk"]}, ProjectionExpression: aws.String("pk, sk"),
	}
	for {
		out, err := a.t.API().Query(ctx, in)
		if err != nil {
			return fmt.Errorf("ask the index for %s: %w", keysOf(it), err)
		}
		for _, found := range out.Items {
			if same(it, found, table.AttrPK, table.AttrSK) {
				return nil
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}
	return a.report(Finding{Kind: NotIndexed, ID: a.id, Item: keysOf(it), Detail: fmt.Sprintf("it is missing from the index, under %q, %q", text(it, "gsi1pk"), text(it, "gsi1sk"))})
}

// entry checks that an index entry is in the table.
func (c *checker) entry(ctx context.Context, it table.Item) error {
	id, ok := aggregateOf(text(it, table.AttrPK))
	if !ok || !c.wanted(id.Type) {
		return nil
	}
	out, err := c.t.API().GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(c.t.Name()), Key: table.Item{table.AttrPK: it[table.AttrPK], table.AttrSK: it[table.AttrSK]},
		ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("pk, sk, gsi1pk, gsi1sk"),
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", keysOf(it), err)
	}
	f := Finding{Kind: IndexStale, ID: id, Item: keysOf(it)}
	switch {
	case len(out.Item) == 0:
		f.Detail = "it is in the index but not in the table"
	case !same(it, out.Item, indexKeys...):
		f.Detail = fmt.Sprintf("its key is %q, %q in the index, but %q, %q in the table", text(it, "gsi1pk"), text(it, "gsi1sk"), text(out.Item, "gsi1pk"), text(out.Item, "gsi1sk"))
	default:
		return nil
	}
	return c.report(f)
}
