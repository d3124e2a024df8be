package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

func tags(pairs ...string) (list []types.Tag) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, types.Tag{Key: &pairs[i], Value: &pairs[i+1]})
	}
	return list
}

func tagsText(list []types.Tag) string {
	var b strings.Builder
	for _, t := range list {
		fmt.Fprintf(&b, "%s=%s ", *t.Key, *t.Value)
	}
	return strings.TrimSpace(b.String())
}

// reopened opens a database, calls change on it, and returns the database opened again.
func reopened(t *testing.T, change func(*engine.DB)) *engine.DB {
	t.Helper()
	dir, o := t.TempDir(), engine.Options{TTLInterval: -1}
	db := must[*engine.DB](t)(engine.Open(dir, o))
	change(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = must[*engine.DB](t)(engine.Open(dir, o))
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestTags(t *testing.T) {
	ctx := context.Background()
	arn := ptr("arn:aws:dynamodb:us-east-1:000000000000:table/tagged")
	db := reopened(t, func(db *engine.DB) {
		in := tableInput("tagged")
		in.Tags = tags("team", "fold", "env", "test")
		must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, in))
		must[*dynamodb.TagResourceOutput](t)(db.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: arn, Tags: tags("env", "prod", "cost center", "")}))
		must[*dynamodb.UntagResourceOutput](t)(db.UntagResource(ctx, &dynamodb.UntagResourceInput{ResourceArn: arn, TagKeys: []string{"team", "other"}}))
	})
	out := must[*dynamodb.ListTagsOfResourceOutput](t)(db.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: arn}))
	if got, want := tagsText(out.Tags), "cost center= env=prod"; got != want {
		t.Errorf("tags %q, want %q", got, want)
	}
	var many []string
	for i := range 49 {
		many = append(many, fmt.Sprint("k", i), "v")
	}
	for text, list := range map[string][]types.Tag{
		"Atleast one Tag needs to be provided as Input.":                             {},
		"The Tag Key provided is invalid, Key: ":                                     tags("", "v"),
		"The Tag Key provided is invalid, Key: a*b":                                  tags("a*b", "v"),
		"The Tag Key provided is invalid, Key: " + strings.Repeat("k", 129):          tags(strings.Repeat("k", 129), "v"),
		"The Tag Value provided is invalid, Value: " + strings.Repeat("v", 257):      tags("k", strings.Repeat("v", 257)),
		"The Tag Value provided is invalid, Value: null":                             {{Key: ptr("k")}},
		"Tag Key cannot be prefixed with aws:, Key: AWS:x":                           tags("AWS:x", "v"),
		"Duplicate Tag Keys provided as input: Duplicate Tag Key found k":            tags("k", "v", "k", "w"),
		"Number of Tags exceed the current limit for the provided ResourceArn":       tags(many...),
		"Value null at 'tags' failed to satisfy constraint: Member must not be null": nil,
	} {
		_, err := db.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: arn, Tags: list})
		refused(t, err, text)
	}
	for text, arn := range map[string]string{
		"ARNs must start with 'arn:': tagged":                        "tagged",
		"Provided Arn is not a DynamoDB resource arn: arn:aws:s3":    "arn:aws:s3:us-east-1:000000000000:bucket/x",
		"Invalid resource arn provided, only table or stream is acc": *arn + "/index/gsi1",
	} {
		_, err := db.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: &arn})
		refused(t, err, text)
	}
	_, err := db.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: ptr(*arn + "2"), Tags: tags("k", "v")})
	if !dynamo.IsNotFound(err) {
		t.Errorf("tagging no table: %v", err)
	}
}

func provisioned(read, write int64) *types.ProvisionedThroughput {
	return &types.ProvisionedThroughput{ReadCapacityUnits: &read, WriteCapacityUnits: &write}
}

// TestTableSettings changes the settings that a table reports, one at a time, and reads them after
// reopening.
func TestTableSettings(t *testing.T) {
	ctx := context.Background()
	db := reopened(t, func(db *engine.DB) {
		in := tableInput("table")
		in.BillingMode, in.ProvisionedThroughput = types.BillingModeProvisioned, provisioned(5, 6)
		in.GlobalSecondaryIndexes[0].ProvisionedThroughput = provisioned(7, 8)
		in.SSESpecification = &types.SSESpecification{Enabled: ptr(true), SSEType: types.SSETypeKms}
		must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, in))
		for _, u := range []dynamodb.UpdateTableInput{
			{BillingMode: types.BillingModePayPerRequest},
			{OnDemandThroughput: &types.OnDemandThroughput{MaxReadRequestUnits: ptr(int64(100)), MaxWriteRequestUnits: ptr(int64(-1))}},
			{WarmThroughput: &types.WarmThroughput{ReadUnitsPerSecond: ptr(int64(13_000))}},
			{TableClass: types.TableClassStandardInfrequentAccess},
			{DeletionProtectionEnabled: ptr(true)},
			{SSESpecification: &types.SSESpecification{Enabled: ptr(true), KMSMasterKeyId: ptr("1234")}},
		} {
			u.TableName = ptr("arn:aws:dynamodb:us-east-1:000000000000:table/table")
			must[*dynamodb.UpdateTableOutput](t)(db.UpdateTable(ctx, &u))
		}
	})
	d := must[*dynamodb.DescribeTableOutput](t)(db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: ptr("table")})).Table
	x := d.GlobalSecondaryIndexes[0]
	got := fmt.Sprintln(d.BillingModeSummary.BillingMode, d.BillingModeSummary.LastUpdateToPayPerRequestDateTime != nil, *d.ProvisionedThroughput.ReadCapacityUnits, *x.ProvisionedThroughput.WriteCapacityUnits,
		*d.OnDemandThroughput.MaxReadRequestUnits, d.OnDemandThroughput.MaxWriteRequestUnits == nil, *d.WarmThroughput.ReadUnitsPerSecond, *d.WarmThroughput.WriteUnitsPerSecond, *x.WarmThroughput.ReadUnitsPerSecond,
		d.TableClassSummary.TableClass, d.TableClassSummary.LastUpdateDateTime != nil, *d.DeletionProtectionEnabled, d.SSEDescription.Status, d.SSEDescription.SSEType, *d.SSEDescription.KMSMasterKeyArn)
	want := "PAY_PER_REQUEST true 0 0 100 true 13000 4000 12000 STANDARD_INFREQUENT_ACCESS true true ENABLED KMS arn:aws:kms:us-east-1:000000000000:key/1234\n"
	if got != want {
		t.Errorf("described as\n%swant\n%s", got, want)
	}
	for text, u := range map[string]dynamodb.UpdateTableInput{
		"At least one of ProvisionedThroughput":                                  {},
		"TableClass modification must be the only operation":                     {TableClass: types.TableClassStandard, BillingMode: types.BillingModePayPerRequest},
		"Invalid table-class parameter provided":                                 {TableClass: "COLD"},
		"Requested MaxReadRequestUnits for OnDemandThroughput for table is outs": {OnDemandThroughput: &types.OnDemandThroughput{MaxReadRequestUnits: ptr(int64(0))}},
		"decreasing WarmThroughput is not supported":                             {WarmThroughput: &types.WarmThroughput{ReadUnitsPerSecond: ptr(int64(12_000))}},
		"SSEType AES256 is not supported":                                        {SSESpecification: &types.SSESpecification{Enabled: ptr(true), SSEType: types.SSETypeAes256}},
		"ProvisionedThroughput must be specified for index: gsi1":                {BillingMode: types.BillingModeProvisioned, ProvisionedThroughput: provisioned(1, 1)},
		"If stream is being disabled, then UpdateViewType must not be specified": {StreamSpecification: &types.StreamSpecification{StreamEnabled: ptr(false), StreamViewType: types.StreamViewTypeNewImage}},
		"You cannot modify stream status while updating table IOPS":              {ProvisionedThroughput: provisioned(1, 1), StreamSpecification: &types.StreamSpecification{StreamEnabled: ptr(false)}},
	} {
		u.TableName = ptr("table")
		_, err := db.UpdateTable(ctx, &u)
		refused(t, err, text)
	}
	_, err := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: ptr("table")})
	refused(t, err, "currently protected against deletion")
}
