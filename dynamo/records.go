package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// RecordReader is an optional interface of Streams. It returns the same records as GetRecords but
// filters them, and returns images in the types of items, so that they are decoded at most once.
// The embedded engine implements it; DynamoDB's client does not.
type RecordReader interface {
	// ReadRecords is like GetRecords, with the same input, limits and errors. It returns only
	// records whose old or new image has a string attribute, named attribute, with a wanted value.
	ReadRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, attribute string, wanted func(value string) bool) (*RecordPage, error)
}

// RecordPage is the result of ReadRecords.
type RecordPage struct {
	Records []Record
	Read    int       // number of records read, wanted or not
	Last    string    // sequence number of the last one read; "" if none
	At      time.Time // when the last one read was written
	Next    *string   // next iterator; nil at the end of a closed shard
}

// Record is one change of one item.
type Record struct {
	Sequence string
	At       time.Time // in whole seconds, as reported by streams
	Event    streamtypes.OperationType
	Expired  bool // removed by time to live
	Old, New map[string]types.AttributeValue
}
