package infra

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// steps returns the updates that a table needs, in order. d is nil if the table does not exist.
func (a *Applying) steps(ctx context.Context, api dynamo.API, s *table.Schema, d *types.TableDescription) ([]step, error) {
	want := a.request(s)
	if d == nil {
		return append([]step{a.create(want)}, a.expiring(), a.backedUp()), nil
	}
	if err := a.fixed(want, d); err != nil {
		return nil, err
	}
	var all []step
	if d.StreamSpecification == nil || !is(d.StreamSpecification.StreamEnabled) {
		all = append(all, a.update("enable the change stream", dynamodb.UpdateTableInput{StreamSpecification: want.StreamSpecification}))
	}
	all = append(all, a.indexSteps(want, d)...)
	if !is(d.DeletionProtectionEnabled) {
		protect := a.update("protect the table from deletion", dynamodb.UpdateTableInput{DeletionProtectionEnabled: want.DeletionProtectionEnabled})
		protect.soft = true
		all = append(all, protect)
	}
	expires, err := a.expires(ctx, api)
	if err == nil && !expires {
		all = append(all, a.expiring())
	}
	if err != nil {
		return nil, err
	}
	keep := a.backedUp()
	var backedUp bool
	if backedUp, keep.unknown, err = a.isBackedUp(ctx, api); err == nil && !backedUp {
		all = append(all, keep)
	}
	return all, err
}

func is(b *bool) bool { return b != nil && *b }

// fixed rejects differences that no update can change.
func (a *Applying) fixed(want *dynamodb.CreateTableInput, d *types.TableDescription) error {
	if !slices.EqualFunc(want.KeySchema, d.KeySchema, sameKey) {
		return fmt.Errorf("%w: breaks_keys: the key of %s differs from the schema; use another table", ErrDiffers, a.TableName)
	}
	if d.StreamSpecification != nil && is(d.StreamSpecification.StreamEnabled) && d.StreamSpecification.StreamViewType != types.StreamViewTypeNewAndOldImages {
		return fmt.Errorf("%w: stream_view: the change stream of %s has view type %s, not NEW_AND_OLD_IMAGES: disable it when nothing reads it, and apply again", ErrDiffers, a.TableName, d.StreamSpecification.StreamViewType)
	}
	if a.Prune {
		return nil
	}
	for _, x := range want.GlobalSecondaryIndexes {
		if have := indexOf(d, *x.IndexName); have != nil && !sameIndex(x, have) {
			return fmt.Errorf("%w: index_differs: index %s of %s has other keys or does not project all attributes: --prune removes and recreates it; its patterns fail until then", ErrDiffers, *x.IndexName, a.TableName)
		}
	}
	return nil
}

func sameKey(x, y types.KeySchemaElement) bool {
	return *x.AttributeName == *y.AttributeName && x.KeyType == y.KeyType
}

func sameIndex(want types.GlobalSecondaryIndex, have *types.GlobalSecondaryIndexDescription) bool {
	return slices.EqualFunc(want.KeySchema, have.KeySchema, sameKey) && have.Projection != nil && have.Projection.ProjectionType == want.Projection.ProjectionType
}

func indexOf(d *types.TableDescription, name string) *types.GlobalSecondaryIndexDescription {
	for i := range d.GlobalSecondaryIndexes {
		if *d.GlobalSecondaryIndexes[i].IndexName == name {
			return &d.GlobalSecondaryIndexes[i]
		}
	}
	return nil
}

// indexSteps first creates missing indexes, so that patterns have their index, then deletes others.
func (a *Applying) indexSteps(want *dynamodb.CreateTableInput, d *types.TableDescription) (all []step) {
	var names []string
	for _, x := range want.GlobalSecondaryIndexes {
		names = append(names, *x.IndexName)
		switch have := indexOf(d, *x.IndexName); {
		case have == nil:
			all = append(all, a.addIndex(x))
		case !sameIndex(x, have):
			all = append(all, a.removeIndex(*x.IndexName), a.addIndex(x))
		}
	}
	for _, x := range d.GlobalSecondaryIndexes {
		if a.Prune && !slices.Contains(names, *x.IndexName) {
			all = append(all, a.removeIndex(*x.IndexName))
		}
	}
	return all
}

func (a *Applying) create(in *dynamodb.CreateTableInput) step {
	return step{does: "create table " + a.TableName, do: func(ctx context.Context, api dynamo.API) error {
		_, err := api.CreateTable(ctx, in)
		return err
	}}
}

func (a *Applying) update(does string, in dynamodb.UpdateTableInput) step {
	in.TableName = &a.TableName
	return step{does: does, do: func(ctx context.Context, api dynamo.API) error {
		_, err := api.UpdateTable(ctx, &in)
		return err
	}}
}

func (a *Applying) addIndex(x types.GlobalSecondaryIndex) step {
	in := dynamodb.UpdateTableInput{GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
		IndexName: x.IndexName, KeySchema: x.KeySchema, Projection: x.Projection,
		ProvisionedThroughput: x.ProvisionedThroughput, OnDemandThroughput: x.OnDemandThroughput,
	}}}}
	for _, k := range x.KeySchema {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: k.AttributeName, AttributeType: types.ScalarAttributeTypeS})
	}
	return a.update("add index "+*x.IndexName, in)
}

func (a *Applying) removeIndex(name string) step {
	return a.update("remove index "+name, dynamodb.UpdateTableInput{GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
		{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: &name}},
	}})
}

func (a *Applying) expires(ctx context.Context, api dynamo.API) (bool, error) {
	out, err := api.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &a.TableName})
	if err != nil || out.TimeToLiveDescription == nil {
		return false, err
	}
	switch d := out.TimeToLiveDescription; d.TimeToLiveStatus {
	case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
		if d.AttributeName != nil && *d.AttributeName != table.AttrTTL {
			return false, fmt.Errorf("%w: ttl_attribute: items of %s expire by attribute %q, not %q: disable TTL first, which takes up to an hour", ErrDiffers, a.TableName, *d.AttributeName, table.AttrTTL)
		}
		return true, nil
	}
	return false, nil
}

func (a *Applying) expiring() step {
	attribute, enabled := table.AttrTTL, true
	return step{does: "let items expire", do: func(ctx context.Context, api dynamo.API) error {
		_, err := api.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &a.TableName,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &enabled}})
		return err
	}}
}

// backups is DynamoDB's API for backups, which many other servers do not have.
type backups interface {
	DescribeContinuousBackups(context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeContinuousBackupsOutput, error)
	UpdateContinuousBackups(context.Context, *dynamodb.UpdateContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateContinuousBackupsOutput, error)
}

// isBackedUp reports whether point-in-time recovery is enabled, and whether the service lacks it.
func (a *Applying) isBackedUp(ctx context.Context, api dynamo.API) (is, lacks bool, err error) {
	b, ok := api.(backups)
	if !ok {
		return false, true, nil
	}
	out, err := b.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &a.TableName})
	if unknown(err) {
		return false, true, nil
	}
	if err != nil || out.ContinuousBackupsDescription == nil || out.ContinuousBackupsDescription.PointInTimeRecoveryDescription == nil {
		return false, false, err
	}
	return out.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled, false, nil
}

func unknown(err error) bool {
	code := dynamo.Code(err)
	return code == "UnknownOperationException" || code == "UnknownOperation"
}

func (a *Applying) backedUp() step {
	enabled := true
	return step{soft: true, does: "keep backups: any second of the last 35 days can be restored", do: func(ctx context.Context, api dynamo.API) error {
		b, ok := api.(backups)
		if !ok {
			return nil
		}
		_, err := b.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{TableName: &a.TableName,
			PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: &enabled}})
		if unknown(err) {
			return nil
		}
		return err
	}}
}
