// Package inventory responds to requests about features of AWS tables that the engine does not
// have, such as backups, exports, replicas and policies. Tools such as Terraform and the CDK ask
// for them before they change a table; the responses say that there are none.
package inventory

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/calls"
	"github.com/onefold/onefold/engine/internal/request"
)

type options = func(*dynamodb.Options)

// Reader implements dynamo.Inventory for a database.
type Reader struct {
	Begin func(context.Context) (calls.Call, error) // starts a request
	Has   func(table string) bool
}

// answer returns the result of make, called during a request.
func answer[Out any](ctx context.Context, r *Reader, make func() (*Out, error)) (*Out, error) {
	call, err := r.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer call.End()
	return make()
}

// ofTable is answer for a request about a table, given by name or ARN, which must exist.
func ofTable[Out any](ctx context.Context, r *Reader, name *string, out func(table *string) *Out) (*Out, error) {
	return answer(ctx, r, func() (*Out, error) {
		var c request.Members
		if err := request.CheckTableName(name, &c); err != nil {
			return nil, err
		}
		table := request.TableName(name)
		if !r.Has(table) {
			return nil, request.NoTableNamed(table)
		}
		return out(&table), nil
	})
}

// DescribeContinuousBackups reports that point-in-time recovery is disabled.
func (r *Reader) DescribeContinuousBackups(ctx context.Context, in *dynamodb.DescribeContinuousBackupsInput, _ ...options) (*dynamodb.DescribeContinuousBackupsOutput, error) {
	if in == nil {
		in = new(dynamodb.DescribeContinuousBackupsInput)
	}
	out, err := ofTable(ctx, r, in.TableName, func(*string) *dynamodb.DescribeContinuousBackupsOutput {
		return &dynamodb.DescribeContinuousBackupsOutput{ContinuousBackupsDescription: &types.ContinuousBackupsDescription{
			ContinuousBackupsStatus:        types.ContinuousBackupsStatusDisabled,
			PointInTimeRecoveryDescription: &types.PointInTimeRecoveryDescription{PointInTimeRecoveryStatus: types.PointInTimeRecoveryStatusDisabled},
		}}
	})
	var absent *types.ResourceNotFoundException
	if errors.As(err, &absent) { // the API's model has a different error for this operation
		msg := "Table not found: " + request.TableName(in.TableName)
		return nil, &types.TableNotFoundException{Message: &msg}
	}
	return out, err
}

// DescribeKinesisStreamingDestination reports that there are no Kinesis destinations.
func (r *Reader) DescribeKinesisStreamingDestination(ctx context.Context, in *dynamodb.DescribeKinesisStreamingDestinationInput, _ ...options) (*dynamodb.DescribeKinesisStreamingDestinationOutput, error) {
	if in == nil {
		in = new(dynamodb.DescribeKinesisStreamingDestinationInput)
	}
	return ofTable(ctx, r, in.TableName, func(table *string) *dynamodb.DescribeKinesisStreamingDestinationOutput {
		return &dynamodb.DescribeKinesisStreamingDestinationOutput{TableName: table, KinesisDataStreamDestinations: []types.KinesisDataStreamDestination{}}
	})
}

// DescribeContributorInsights reports that Contributor Insights are disabled.
func (r *Reader) DescribeContributorInsights(ctx context.Context, in *dynamodb.DescribeContributorInsightsInput, _ ...options) (*dynamodb.DescribeContributorInsightsOutput, error) {
	if in == nil {
		in = new(dynamodb.DescribeContributorInsightsInput)
	}
	return ofTable(ctx, r, in.TableName, func(table *string) *dynamodb.DescribeContributorInsightsOutput {
		return &dynamodb.DescribeContributorInsightsOutput{TableName: table, IndexName: in.IndexName, ContributorInsightsStatus: types.ContributorInsightsStatusDisabled}
	})
}

// DescribeTableReplicaAutoScaling reports that there are no replicas.
func (r *Reader) DescribeTableReplicaAutoScaling(ctx context.Context, in *dynamodb.DescribeTableReplicaAutoScalingInput, _ ...options) (*dynamodb.DescribeTableReplicaAutoScalingOutput, error) {
	if in == nil {
		in = new(dynamodb.DescribeTableReplicaAutoScalingInput)
	}
	return ofTable(ctx, r, in.TableName, func(table *string) *dynamodb.DescribeTableReplicaAutoScalingOutput {
		return &dynamodb.DescribeTableReplicaAutoScalingOutput{TableAutoScalingDescription: &types.TableAutoScalingDescription{
			TableName: table, TableStatus: types.TableStatusActive, Replicas: []types.ReplicaAutoScalingDescription{}}}
	})
}

// GetResourcePolicy returns PolicyNotFoundException for an existing table.
func (r *Reader) GetResourcePolicy(ctx context.Context, in *dynamodb.GetResourcePolicyInput, _ ...options) (*dynamodb.GetResourcePolicyOutput, error) {
	return answer(ctx, r, func() (*dynamodb.GetResourcePolicyOutput, error) {
		if in == nil || in.ResourceArn == nil {
			var c request.Members
			c.AddNull("resourceArn")
			return nil, c.Err()
		}
		name, err := request.TaggedTable(in.ResourceArn)
		if err != nil {
			return nil, err
		}
		if !r.Has(name) {
			return nil, request.NoResource(*in.ResourceArn)
		}
		msg := "Resource-based policy not found for the provided ResourceArn: " + *in.ResourceArn
		return nil, &types.PolicyNotFoundException{Message: &msg}
	})
}

// ListContributorInsights returns an empty list.
func (r *Reader) ListContributorInsights(ctx context.Context, _ *dynamodb.ListContributorInsightsInput, _ ...options) (*dynamodb.ListContributorInsightsOutput, error) {
	return answer(ctx, r, func() (*dynamodb.ListContributorInsightsOutput, error) {
		return &dynamodb.ListContributorInsightsOutput{ContributorInsightsSummaries: []types.ContributorInsightsSummary{}}, nil
	})
}

// ListBackups returns an empty list. Backups by `onefold dynamodb backup` are files that the
// database does not track.
func (r *Reader) ListBackups(ctx context.Context, _ *dynamodb.ListBackupsInput, _ ...options) (*dynamodb.ListBackupsOutput, error) {
	return answer(ctx, r, func() (*dynamodb.ListBackupsOutput, error) {
		return &dynamodb.ListBackupsOutput{BackupSummaries: []types.BackupSummary{}}, nil
	})
}

// ListExports returns an empty list.
func (r *Reader) ListExports(ctx context.Context, _ *dynamodb.ListExportsInput, _ ...options) (*dynamodb.ListExportsOutput, error) {
	return answer(ctx, r, func() (*dynamodb.ListExportsOutput, error) {
		return &dynamodb.ListExportsOutput{ExportSummaries: []types.ExportSummary{}}, nil
	})
}

// ListImports returns an empty list.
func (r *Reader) ListImports(ctx context.Context, _ *dynamodb.ListImportsInput, _ ...options) (*dynamodb.ListImportsOutput, error) {
	return answer(ctx, r, func() (*dynamodb.ListImportsOutput, error) {
		return &dynamodb.ListImportsOutput{ImportSummaryList: []types.ImportSummary{}}, nil
	})
}

// ListGlobalTables returns an empty list.
func (r *Reader) ListGlobalTables(ctx context.Context, _ *dynamodb.ListGlobalTablesInput, _ ...options) (*dynamodb.ListGlobalTablesOutput, error) {
	return answer(ctx, r, func() (*dynamodb.ListGlobalTablesOutput, error) {
		return &dynamodb.ListGlobalTablesOutput{GlobalTables: []types.GlobalTable{}}, nil
	})
}
