package dump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamojson"
)

// ErrDescription is returned for a file that does not describe a table.
var ErrDescription = errors.New("bad_description")

// Description describes a table: the request that creates it, and the TTL attribute.
type Description struct {
	Create dynamodb.CreateTableInput
	TTL    string // "": none
}

// Describe returns the responses of DescribeTable and DescribeTimeToLive in one JSON object, in the
// format of the AWS CLI.
func Describe(ctx context.Context, api dynamo.API, table string) ([]byte, error) {
	described, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(dynamojson.Append(nil, described), &all); err != nil {
		return nil, fmt.Errorf("describe %s: %w", table, err)
	}
	expiry, err := api.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err == nil {
		err = json.Unmarshal(dynamojson.Append(nil, expiry), &all)
	}
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", table, err)
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", table, err)
	}
	return append(b, '\n'), nil
}

// ParseDescription parses the output of Describe, the output of `aws dynamodb describe-table`, or
// the input of CreateTable.
func ParseDescription(b []byte) (*Description, error) {
	var outer struct {
		Table                 json.RawMessage
		TimeToLiveDescription struct{ TimeToLiveStatus, AttributeName string }
	}
	if err := json.Unmarshal(b, &outer); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDescription, err)
	}
	if outer.Table != nil {
		b = outer.Table
	}
	d := new(Description)
	if err := dynamojson.DecodeInput(b, &d.Create); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDescription, err)
	}
	if len(d.Create.KeySchema) == 0 {
		return nil, fmt.Errorf("%w: there is no KeySchema; use the output of `aws dynamodb describe-table` or the input of CreateTable", ErrDescription)
	}
	if outer.TimeToLiveDescription.TimeToLiveStatus == string(types.TimeToLiveStatusEnabled) {
		d.TTL = outer.TimeToLiveDescription.AttributeName
	}
	return d, d.asInput(b)
}

// asInput converts the description of a table to the input of CreateTable.
func (d *Description) asInput(b []byte) error {
	var told struct {
		BillingModeSummary struct{ BillingMode types.BillingMode }
		TableClassSummary  struct{ TableClass types.TableClass }
	}
	if err := json.Unmarshal(b, &told); err != nil {
		return fmt.Errorf("%w: %w", ErrDescription, err)
	}
	c := &d.Create
	if told.TableClassSummary.TableClass != "" {
		c.TableClass = told.TableClassSummary.TableClass
	}
	if told.BillingModeSummary.BillingMode == types.BillingModePayPerRequest {
		c.BillingMode = types.BillingModePayPerRequest
	}
	if c.BillingMode == types.BillingModePayPerRequest {
		c.ProvisionedThroughput = nil
		for i := range c.GlobalSecondaryIndexes {
			c.GlobalSecondaryIndexes[i].ProvisionedThroughput = nil
		}
	}
	if s := c.StreamSpecification; s != nil && (s.StreamEnabled == nil || !*s.StreamEnabled) {
		c.StreamSpecification = nil
	}
	c.OnDemandThroughput, c.WarmThroughput = nil, nil // of the old table; these units may not be available here
	for i := range c.GlobalSecondaryIndexes {
		c.GlobalSecondaryIndexes[i].OnDemandThroughput, c.GlobalSecondaryIndexes[i].WarmThroughput = nil, nil
	}
	return nil
}

// Ensure creates a table with a name unless it exists, and waits until it is active. It reports
// whether it created the table.
func (d *Description) Ensure(ctx context.Context, api dynamo.API, table string) (bool, error) {
	_, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err == nil || !dynamo.IsNotFound(err) {
		return false, err
	}
	in := d.Create
	in.TableName = &table
	if _, err := api.CreateTable(ctx, &in); err != nil {
		return false, fmt.Errorf("create %s: %w", table, err)
	}
	const longest = 10 * time.Minute
	waiter := dynamodb.NewTableExistsWaiter(api, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay, o.MaxDelay = time.Second, 5*time.Second })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, longest); err != nil {
		return true, fmt.Errorf("create %s: %w", table, err)
	}
	if d.TTL == "" {
		return true, nil
	}
	on := true
	_, err = api.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &d.TTL, Enabled: &on}})
	return true, err
}
