package request

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// DynamoDB's page sizes for stream requests: maxRecords for GetRecords, maxStreamPage for shards
// and streams.
const (
	maxStreamPage = 100
	maxRecords    = 1000
)

func (c *Members) streamARN(s *string, member string) { c.Length(s, member, 37, 1024) }

func (c *Members) shardID(s *string, member string) { c.Length(s, member, 28, 65) }

// needed records a required member that is missing.
func (c *Members) needed(s *string, member string) {
	if s == nil {
		c.AddNull(member)
	}
}

// limit returns the size of a page; the default is most.
func (c *Members) limit(n *int32, most int) int {
	switch {
	case n == nil:
		return most
	case *n < 1:
		c.Add(fmt.Sprint(*n), "limit", "Member must have value greater than or equal to 1")
	case int(*n) > most:
		c.Add(fmt.Sprint(*n), "limit", fmt.Sprintf("Member must have value less than or equal to %d", most))
	}
	return int(*n)
}

// CheckListStreams validates a ListStreams and returns its page size.
func CheckListStreams(in *dynamodbstreams.ListStreamsInput) (limit int, err error) {
	var c Members
	c.streamARN(in.ExclusiveStartStreamArn, "exclusiveStartStreamArn")
	limit = c.limit(in.Limit, maxStreamPage)
	if in.TableName == nil {
		return limit, c.Err()
	}
	c.Length(in.TableName, "tableName", MinTableName, maxTableARN)
	return limit, CheckTableName(in.TableName, &c)
}

// CheckDescribeStream validates a DescribeStream and returns its page size in shards.
func CheckDescribeStream(in *dynamodbstreams.DescribeStreamInput) (limit int, err error) {
	var c Members
	c.needed(in.StreamArn, "streamArn")
	c.streamARN(in.StreamArn, "streamArn")
	limit = c.limit(in.Limit, maxStreamPage)
	c.shardID(in.ExclusiveStartShardId, "exclusiveStartShardId")
	f := in.ShardFilter
	if f == nil {
		return limit, c.Err()
	}
	CheckEnum(&c, "shardFilter.type", f.Type, string(streamtypes.ShardFilterTypeChildShards))
	c.shardID(f.ShardId, "shardFilter.shardId")
	if err := c.Err(); err != nil {
		return 0, err
	}
	if f.Type == "" || f.ShardId == nil {
		return 0, Invalid("Type and ShardId of a ShardFilter must both be specified")
	}
	return limit, nil
}

// CheckGetShardIterator validates a GetShardIterator.
func CheckGetShardIterator(in *dynamodbstreams.GetShardIteratorInput) error {
	var c Members
	c.needed(in.StreamArn, "streamArn")
	c.streamARN(in.StreamArn, "streamArn")
	c.needed(in.ShardId, "shardId")
	c.shardID(in.ShardId, "shardId")
	if in.ShardIteratorType == "" {
		c.AddNull("shardIteratorType")
	}
	CheckEnum(&c, "shardIteratorType", in.ShardIteratorType, "AFTER_SEQUENCE_NUMBER", "LATEST", "AT_SEQUENCE_NUMBER", "TRIM_HORIZON")
	c.Length(in.SequenceNumber, "sequenceNumber", 21, 40)
	if err := c.Err(); err != nil {
		return err
	}
	at := in.ShardIteratorType == streamtypes.ShardIteratorTypeAtSequenceNumber || in.ShardIteratorType == streamtypes.ShardIteratorTypeAfterSequenceNumber
	if at && in.SequenceNumber == nil {
		return Invalid("Sequence number must be specified for a ShardIteratorType of %s", in.ShardIteratorType)
	}
	return nil
}

// CheckGetRecords validates a GetRecords and returns its page size.
func CheckGetRecords(in *dynamodbstreams.GetRecordsInput) (limit int, err error) {
	var c Members
	c.needed(in.ShardIterator, "shardIterator")
	c.Length(in.ShardIterator, "shardIterator", 1, 2048)
	limit = c.limit(in.Limit, maxRecords)
	return limit, c.Err()
}
