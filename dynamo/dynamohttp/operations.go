package dynamohttp

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamojson"
)

// request is the part of an HTTP request that operations need.
type request struct {
	host string
	body []byte
}

// operation is an operation of the API. The zero value is an unknown operation.
type operation struct {
	name string
	run  func(context.Context, request) (smithy.Serializable, error)
}

const (
	tablesTarget  = "DynamoDB_20120810."
	streamsTarget = "DynamoDBStreams_20120810."
)

// operationTable maps targets to operations.
type operationTable map[string]operation

// add adds a backend's method to the table.
func add[In any, Out smithy.Serializable, O any, P interface {
	*In
	smithy.Serializable
}](t operationTable, prefix, name string, method func(context.Context, P, ...func(*O)) (Out, error)) {
	t[prefix+name] = operation{name: name, run: func(ctx context.Context, r request) (smithy.Serializable, error) {
		in := P(new(In))
		if err := dynamojson.DecodeInput(r.body, in); err != nil {
			return nil, err
		}
		out, err := method(ctx, in)
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}

// operationsOf returns the operations that a backend supports.
func operationsOf(b Backend) operationTable {
	t := operationTable{}
	t.addTables(b)
	t.addItems(b)
	t.addStreams(b)
	if s, ok := b.(dynamo.Statements); ok {
		add(t, tablesTarget, "ExecuteStatement", s.ExecuteStatement)
		add(t, tablesTarget, "BatchExecuteStatement", s.BatchExecuteStatement)
		add(t, tablesTarget, "ExecuteTransaction", s.ExecuteTransaction)
	}
	if s, ok := b.(dynamo.Tags); ok {
		add(t, tablesTarget, "TagResource", s.TagResource)
		add(t, tablesTarget, "UntagResource", s.UntagResource)
		add(t, tablesTarget, "ListTagsOfResource", s.ListTagsOfResource)
	}
	if s, ok := b.(dynamo.Limits); ok {
		add(t, tablesTarget, "DescribeLimits", s.DescribeLimits)
	}
	if s, ok := b.(dynamo.Inventory); ok {
		t.addInventory(s)
	}
	return t
}

func (t operationTable) addInventory(b dynamo.Inventory) {
	add(t, tablesTarget, "DescribeContinuousBackups", b.DescribeContinuousBackups)
	add(t, tablesTarget, "DescribeKinesisStreamingDestination", b.DescribeKinesisStreamingDestination)
	add(t, tablesTarget, "DescribeContributorInsights", b.DescribeContributorInsights)
	add(t, tablesTarget, "DescribeTableReplicaAutoScaling", b.DescribeTableReplicaAutoScaling)
	add(t, tablesTarget, "GetResourcePolicy", b.GetResourcePolicy)
	add(t, tablesTarget, "ListContributorInsights", b.ListContributorInsights)
	add(t, tablesTarget, "ListBackups", b.ListBackups)
	add(t, tablesTarget, "ListExports", b.ListExports)
	add(t, tablesTarget, "ListImports", b.ListImports)
	add(t, tablesTarget, "ListGlobalTables", b.ListGlobalTables)
}

func (t operationTable) addTables(b Backend) {
	add(t, tablesTarget, "CreateTable", b.CreateTable)
	add(t, tablesTarget, "DescribeTable", b.DescribeTable)
	add(t, tablesTarget, "UpdateTable", b.UpdateTable)
	add(t, tablesTarget, "DeleteTable", b.DeleteTable)
	add(t, tablesTarget, "ListTables", b.ListTables)
	add(t, tablesTarget, "UpdateTimeToLive", b.UpdateTimeToLive)
	add(t, tablesTarget, "DescribeTimeToLive", b.DescribeTimeToLive)
	t[tablesTarget+"DescribeEndpoints"] = operation{name: "DescribeEndpoints", run: describeEndpoints}
}

func (t operationTable) addItems(b Backend) {
	add(t, tablesTarget, "PutItem", b.PutItem)
	add(t, tablesTarget, "GetItem", b.GetItem)
	add(t, tablesTarget, "UpdateItem", b.UpdateItem)
	add(t, tablesTarget, "DeleteItem", b.DeleteItem)
	add(t, tablesTarget, "Query", func(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (queryAnswer, error) {
		out, err := b.Query(ctx, in)
		return queryAnswer{out}, err
	})
	add(t, tablesTarget, "Scan", func(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (scanAnswer, error) {
		out, err := b.Scan(ctx, in)
		return scanAnswer{out}, err
	})
	add(t, tablesTarget, "BatchGetItem", b.BatchGetItem)
	add(t, tablesTarget, "BatchWriteItem", b.BatchWriteItem)
	add(t, tablesTarget, "TransactWriteItems", b.TransactWriteItems)
	add(t, tablesTarget, "TransactGetItems", b.TransactGetItems)
}

func (t operationTable) addStreams(b Backend) {
	add(t, streamsTarget, "ListStreams", b.ListStreams)
	add(t, streamsTarget, "DescribeStream", b.DescribeStream)
	add(t, streamsTarget, "GetShardIterator", b.GetShardIterator)
	add(t, streamsTarget, "GetRecords", b.GetRecords)
}

// endpointMinutes is how long a client may cache the response of DescribeEndpoints, as in DynamoDB.
const endpointMinutes = 1440

// describeEndpoints returns the endpoint to which the request was sent.
func describeEndpoints(_ context.Context, r request) (smithy.Serializable, error) {
	if err := dynamojson.DecodeInput(r.body, &dynamodb.DescribeEndpointsInput{}); err != nil {
		return nil, err
	}
	return &dynamodb.DescribeEndpointsOutput{Endpoints: []types.Endpoint{{Address: aws.String(r.host), CachePeriodInMinutes: endpointMinutes}}}, nil
}

// queryAnswer writes counts even if they are zero. The SDK's type omits them, DynamoDB does not.
type queryAnswer struct{ *dynamodb.QueryOutput }

// Serialize implements smithy.Serializable.
func (a queryAnswer) Serialize(s smithy.ShapeSerializer) {
	s.WriteStruct(schemas.QueryOutput)
	writeZero(s, schemas.QueryOutput_Count, a.Count)
	writeZero(s, schemas.QueryOutput_ScannedCount, a.ScannedCount)
	a.SerializeMembers(s)
	s.CloseStruct()
}

// scanAnswer is like queryAnswer, for scans.
type scanAnswer struct{ *dynamodb.ScanOutput }

// Serialize implements smithy.Serializable.
func (a scanAnswer) Serialize(s smithy.ShapeSerializer) {
	s.WriteStruct(schemas.ScanOutput)
	writeZero(s, schemas.ScanOutput_Count, a.Count)
	writeZero(s, schemas.ScanOutput_ScannedCount, a.ScannedCount)
	a.SerializeMembers(s)
	s.CloseStruct()
}

func writeZero(s smithy.ShapeSerializer, member *smithy.Schema, count int32) {
	if count == 0 {
		s.WriteInt32(member, 0)
	}
}
