package engine

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/request"
)

var (
	_ dynamo.Tags   = (*DB)(nil)
	_ dynamo.Limits = (*DB)(nil)
)

// TagResource adds tags to a table and replaces those with the same keys. A table can have 50 tags.
func (db *DB) TagResource(ctx context.Context, in *dynamodb.TagResourceInput, _ ...func(*dynamodb.Options)) (*dynamodb.TagResourceOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	name, err := request.CheckTagging(in)
	if err != nil {
		return nil, err
	}
	return &dynamodb.TagResourceOutput{}, db.changeTags(name, *in.ResourceArn, func(d *catalog.Table) error { return d.AddTags(in.Tags) })
}

// UntagResource removes tags from a table. Missing tags are ignored.
func (db *DB) UntagResource(ctx context.Context, in *dynamodb.UntagResourceInput, _ ...func(*dynamodb.Options)) (*dynamodb.UntagResourceOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	name, err := request.CheckUntagging(in)
	if err != nil {
		return nil, err
	}
	return &dynamodb.UntagResourceOutput{}, db.changeTags(name, *in.ResourceArn, func(d *catalog.Table) error {
		d.RemoveTags(in.TagKeys)
		return nil
	})
}

func (db *DB) changeTags(name, arn string, change func(*catalog.Table) error) error {
	db.control.Lock()
	defer db.control.Unlock()
	t := (*db.tables.Load())[name]
	if t == nil {
		return request.NoResource(arn)
	}
	c := db.change(t)
	if err := change(c.Table); err != nil {
		return err
	}
	return db.commitChange(t, c)
}

// ListTagsOfResource returns all tags of a table, sorted by key.
func (db *DB) ListTagsOfResource(ctx context.Context, in *dynamodb.ListTagsOfResourceInput, _ ...func(*dynamodb.Options)) (*dynamodb.ListTagsOfResourceOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	name, err := request.TaggedTable(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	var s *schema
	if t := (*db.tables.Load())[name]; t != nil {
		s = t.schema.Load()
	}
	if s == nil { // what DynamoDB responds for a table unknown to the caller
		return nil, &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient,
			Message: "User: arn:aws:iam::" + account + ":root is not authorized to perform: dynamodb:ListTagsOfResource on resource: " + *in.ResourceArn}
	}
	return &dynamodb.ListTagsOfResourceOutput{Tags: s.desc.DescribeTags()}, nil
}

// DescribeLimits returns the quotas of a new DynamoDB account. The engine itself has none.
func (db *DB) DescribeLimits(ctx context.Context, _ *dynamodb.DescribeLimitsInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeLimitsOutput, error) {
	call, err := db.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer call.End()
	ofAccount, ofTable := int64(80_000), int64(40_000)
	return &dynamodb.DescribeLimitsOutput{AccountMaxReadCapacityUnits: &ofAccount, AccountMaxWriteCapacityUnits: &ofAccount,
		TableMaxReadCapacityUnits: &ofTable, TableMaxWriteCapacityUnits: &ofTable}, nil
}

// DescribeEndpoints returns DynamoDB's endpoint for the Region. A server of the database returns
// its own instead.
func (db *DB) DescribeEndpoints(ctx context.Context, _ *dynamodb.DescribeEndpointsInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeEndpointsOutput, error) {
	call, err := db.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer call.End()
	address := "dynamodb." + db.o.Region + ".amazonaws.com"
	return &dynamodb.DescribeEndpointsOutput{Endpoints: []types.Endpoint{{Address: &address, CachePeriodInMinutes: 1440}}}, nil
}
