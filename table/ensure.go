package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/backoff"
)

// indexNames returns the names of all secondary indexes, sorted.
func (s *Schema) indexNames() []string {
	var names []string
	for _, e := range s.entities {
		for _, x := range e.indexes {
			names = append(names, x.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func keySchema(pk, sk string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: &pk, KeyType: types.KeyTypeHash},
		{AttributeName: &sk, KeyType: types.KeyTypeRange},
	}
}

// CreateTableInput returns the request that creates the schema's table: on-demand capacity, indexes
// that project all attributes, and a stream of old and new images. TTL needs a separate request:
// see Ensure.
func (s *Schema) CreateTableInput(tableName string) *dynamodb.CreateTableInput {
	attributes := []string{AttrPK, AttrSK}
	enabled := true
	in := &dynamodb.CreateTableInput{
		TableName:   &tableName,
		KeySchema:   keySchema(AttrPK, AttrSK),
		BillingMode: types.BillingModePayPerRequest,
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: &enabled, StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}
	for _, name := range s.indexNames() {
		attributes = append(attributes, name+"pk", name+"sk")
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &name, KeySchema: keySchema(name+"pk", name+"sk"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		})
	}
	for _, name := range attributes {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: &name, AttributeType: types.ScalarAttributeTypeS,
		})
	}
	return in
}

// Ensure prepares the table: it creates it if it does not exist, waits until it is active, and
// enables TTL. An existing table must fit the schema; otherwise the error lists the differences.
func (s *Schema) Ensure(ctx context.Context, api dynamo.API, name string) error {
	if err := s.ensure(ctx, api, name); err != nil {
		return fmt.Errorf("table: ensure %s for schema %s: %w", name, s.name, err)
	}
	return nil
}

func (s *Schema) ensure(ctx context.Context, api dynamo.API, name string) error {
	_, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if dynamo.IsNotFound(err) {
		_, err = api.CreateTable(ctx, s.CreateTableInput(name))
		if dynamo.Code(err) == "ResourceInUseException" {
			err = nil // another process created it in the meantime; it is checked below
		}
	}
	if err != nil {
		return err
	}
	d, err := waitActive(ctx, api, name)
	if err != nil {
		return err
	}
	if err := errors.Join(s.differences(d)...); err != nil {
		return err
	}
	return ensureTTL(ctx, api, name)
}

// Check returns an error that lists the differences between a table and the schema. It changes
// nothing. If the table does not exist, the error is the API's ResourceNotFoundException.
func (s *Schema) Check(ctx context.Context, api dynamo.API, name string) error {
	if err := s.check(ctx, api, name); err != nil {
		return fmt.Errorf("table: check %s for schema %s: %w", name, s.name, err)
	}
	return nil
}

func (s *Schema) check(ctx context.Context, api dynamo.API, name string) error {
	out, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return err
	}
	expires, err := expiry(ctx, api, name)
	if err == nil && !expires {
		err = fmt.Errorf("its items do not expire: enable TTL on attribute %q", AttrTTL)
	}
	if dynamo.Code(err) != "" {
		return err
	}
	return errors.Join(append(s.differences(out.Table), err)...)
}

func waitActive(ctx context.Context, api dynamo.API, name string) (*types.TableDescription, error) {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		out, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			return nil, err
		}
		switch out.Table.TableStatus {
		case types.TableStatusActive, types.TableStatusUpdating:
			return out.Table, nil
		case types.TableStatusCreating:
		default:
			return nil, fmt.Errorf("the table is %s", out.Table.TableStatus)
		}
		if err := backoff.For(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// differences returns what a table lacks for the schema. Additional indexes do no harm.
func (s *Schema) differences(d *types.TableDescription) []error {
	want := s.CreateTableInput("")
	var problems []error
	if got := describeKeys(d.KeySchema); got != describeKeys(want.KeySchema) {
		problems = append(problems, fmt.Errorf("its key is %s, not %s: use another table", got, describeKeys(want.KeySchema)))
	}
	for _, a := range want.AttributeDefinitions {
		for _, b := range d.AttributeDefinitions {
			if *a.AttributeName == *b.AttributeName && a.AttributeType != b.AttributeType {
				problems = append(problems, fmt.Errorf("key attribute %s has type %s, not %s", *a.AttributeName, b.AttributeType, a.AttributeType))
			}
		}
	}
	for _, x := range want.GlobalSecondaryIndexes {
		problems = append(problems, indexDifferences(x, d.GlobalSecondaryIndexes)...)
	}
	if sp := d.StreamSpecification; sp == nil || sp.StreamEnabled == nil || !*sp.StreamEnabled {
		problems = append(problems, errors.New("it has no change stream: enable it with NEW_AND_OLD_IMAGES"))
	} else if sp.StreamViewType != types.StreamViewTypeNewAndOldImages {
		problems = append(problems, fmt.Errorf("its change stream has view type %s, not NEW_AND_OLD_IMAGES: disable it and enable it again", sp.StreamViewType))
	}
	return problems
}

func indexDifferences(want types.GlobalSecondaryIndex, have []types.GlobalSecondaryIndexDescription) []error {
	for _, x := range have {
		if x.IndexName == nil || *x.IndexName != *want.IndexName {
			continue
		}
		var problems []error
		if got := describeKeys(x.KeySchema); got != describeKeys(want.KeySchema) {
			problems = append(problems, fmt.Errorf("the key of its index %s is %s, not %s", *x.IndexName, got, describeKeys(want.KeySchema)))
		}
		if x.Projection == nil || x.Projection.ProjectionType != types.ProjectionTypeAll {
			problems = append(problems, fmt.Errorf("its index %s does not project all attributes", *x.IndexName))
		}
		return problems
	}
	return []error{fmt.Errorf("it has no index %s with key %s: add it", *want.IndexName, describeKeys(want.KeySchema))}
}

func describeKeys(schema []types.KeySchemaElement) string {
	var keys []string
	for _, k := range schema {
		keys = append(keys, *k.AttributeName)
	}
	return "(" + strings.Join(keys, ", ") + ")"
}

// ensureTTL enables TTL on the attribute ttl. If an earlier call created the table and crashed,
// this call completes it.
func ensureTTL(ctx context.Context, api dynamo.API, name string) error {
	expires, err := expiry(ctx, api, name)
	if err != nil || expires {
		return err
	}
	attribute, enabled := AttrTTL, true
	_, err = api.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &enabled}})
	return err
}

// expiry reports whether items expire by the attribute ttl. TTL on another attribute is an error.
func expiry(ctx context.Context, api dynamo.API, name string) (bool, error) {
	out, err := api.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		return false, err
	}
	if d := out.TimeToLiveDescription; d != nil {
		switch d.TimeToLiveStatus {
		case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
			if d.AttributeName != nil && *d.AttributeName != AttrTTL {
				return false, fmt.Errorf("its items expire by attribute %q, not %q: disable TTL first", *d.AttributeName, AttrTTL)
			}
			return true, nil
		case types.TimeToLiveStatusDisabling:
			return false, errors.New("its TTL is being disabled: try again when this is done")
		}
	}
	return false, nil
}
