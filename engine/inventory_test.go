package engine_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/engine"
)

// TestInventoryOfATable asks over the wire, as tools that manage tables do, for everything that a
// table can have besides items.
func TestInventoryOfATable(t *testing.T) {
	db, ctx := memory(t, engine.Options{}), context.Background()
	arn := must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table"))).TableDescription.TableArn
	c := dynamodb.New(dynamodb.Options{Region: "us-east-1", HTTPClient: dynamohttp.NewDoer(db)})
	for _, name := range []*string{ptr("table"), arn} {
		backups := must[*dynamodb.DescribeContinuousBackupsOutput](t)(c.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: name}))
		if d := backups.ContinuousBackupsDescription; d.ContinuousBackupsStatus != "DISABLED" || d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus != "DISABLED" {
			t.Errorf("continuous backups: %+v", d)
		}
		kinesis := must[*dynamodb.DescribeKinesisStreamingDestinationOutput](t)(c.DescribeKinesisStreamingDestination(ctx, &dynamodb.DescribeKinesisStreamingDestinationInput{TableName: name}))
		if *kinesis.TableName != "table" || kinesis.KinesisDataStreamDestinations == nil || len(kinesis.KinesisDataStreamDestinations) > 0 {
			t.Errorf("Kinesis: %+v", kinesis)
		}
		insights := must[*dynamodb.DescribeContributorInsightsOutput](t)(c.DescribeContributorInsights(ctx, &dynamodb.DescribeContributorInsightsInput{TableName: name}))
		if *insights.TableName != "table" || insights.ContributorInsightsStatus != "DISABLED" {
			t.Errorf("insights: %+v", insights)
		}
		scaling := must[*dynamodb.DescribeTableReplicaAutoScalingOutput](t)(c.DescribeTableReplicaAutoScaling(ctx, &dynamodb.DescribeTableReplicaAutoScalingInput{TableName: name}))
		if d := scaling.TableAutoScalingDescription; *d.TableName != "table" || d.TableStatus != "ACTIVE" || len(d.Replicas) > 0 {
			t.Errorf("replicas: %+v", d)
		}
	}
	if out := must[*dynamodb.ListBackupsOutput](t)(c.ListBackups(ctx, &dynamodb.ListBackupsInput{})); out.BackupSummaries == nil || len(out.BackupSummaries) > 0 {
		t.Errorf("backups: %+v", out)
	}
	if out := must[*dynamodb.ListExportsOutput](t)(c.ListExports(ctx, &dynamodb.ListExportsInput{})); out.ExportSummaries == nil || len(out.ExportSummaries) > 0 {
		t.Errorf("exports: %+v", out)
	}
	if out := must[*dynamodb.ListImportsOutput](t)(c.ListImports(ctx, &dynamodb.ListImportsInput{})); out.ImportSummaryList == nil || len(out.ImportSummaryList) > 0 {
		t.Errorf("imports: %+v", out)
	}
	if out := must[*dynamodb.ListGlobalTablesOutput](t)(c.ListGlobalTables(ctx, &dynamodb.ListGlobalTablesInput{})); out.GlobalTables == nil || len(out.GlobalTables) > 0 {
		t.Errorf("global tables: %+v", out)
	}
	if out := must[*dynamodb.ListContributorInsightsOutput](t)(c.ListContributorInsights(ctx, &dynamodb.ListContributorInsightsInput{})); out.ContributorInsightsSummaries == nil || len(out.ContributorInsightsSummaries) > 0 {
		t.Errorf("insights: %+v", out)
	}
	_, err := c.GetResourcePolicy(ctx, &dynamodb.GetResourcePolicyInput{ResourceArn: arn})
	if dynamo.Code(err) != "PolicyNotFoundException" {
		t.Errorf("policy: %v", err)
	}
	_, err = c.GetResourcePolicy(ctx, &dynamodb.GetResourcePolicyInput{ResourceArn: ptr(*arn + "s")})
	if dynamo.Code(err) != "ResourceNotFoundException" {
		t.Errorf("policy of no table: %v", err)
	}
	_, err = c.DescribeKinesisStreamingDestination(ctx, &dynamodb.DescribeKinesisStreamingDestinationInput{TableName: ptr("none")})
	if dynamo.Code(err) != "ResourceNotFoundException" {
		t.Errorf("Kinesis of no table: %v", err)
	}
	_, err = c.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: ptr("none")})
	if dynamo.Code(err) != "TableNotFoundException" {
		t.Errorf("continuous backups of no table: %v", err)
	}
}
