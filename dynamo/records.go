package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// RecordReader is what a Streams may offer beside GetRecords: the same records, without those that nobody wants, and
// with images in the types of items, so that they are decoded once or not at all. The embedded engine offers it;
// DynamoDB's client does not.
type RecordReader interface {
	// ReadRecords is GetRecords, with the same input, limits and errors. It returns the records whose old or new image
	// has a string attribute of the name attribute with a value that is wanted.
	ReadRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, attribute string, wanted func(value string) bool) (*RecordPage, error)
}

// RecordPage is an answer of ReadRecords.
type RecordPage struct {
	Records []Record
	Read    int       // records passed, wanted or not
	Last    string    // sequence number of the last of them, "" for none
	At      time.Time // when that one was written
	Next    *string   // next iterator; nil once a closed shard is exhausted
}

// Record is one change of one item.
type Record struct {
	Sequence string
	At       time.Time // in whole seconds, as a stream tells it
	Event    streamtypes.OperationType
	Expired  bool // removed by time to live
	Old, New map[string]types.AttributeValue
}
