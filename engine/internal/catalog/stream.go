package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/engine/internal/row"
)

// Stream is a stream descriptor. It is stored as JSON under its ID.
type Stream struct {
	ID       uint32               `json:"id"`
	Table    string               `json:"table"`
	Label    string               `json:"label"`
	View     types.StreamViewType `json:"view"`
	Created  int64                `json:"created"`            // milliseconds since 1970
	Disabled int64                `json:"disabled,omitempty"` // likewise; 0 while enabled
	Hash     Key                  `json:"hash"`
	Range    Key                  `json:"range"`
	Shards   []Shard              `json:"shards"` // by ID
	NextID   uint32               `json:"nextShard"`
}

// Shard is the descriptor of a shard: the records of its slot with First <= sequence number <=
// Last.
type Shard struct {
	ID           uint32 `json:"id"`
	Parent       uint32 `json:"parent,omitempty"` // 0 if none
	ParentOpened int64  `json:"parentOpened,omitempty"`
	Slot         int    `json:"slot"` // part of the partition keys that it covers
	First        uint64 `json:"first"`
	Last         uint64 `json:"last,omitempty"` // 0 while open
	Closed       bool   `json:"closed,omitempty"`
	Opened       int64  `json:"opened"` // milliseconds since 1970
	Ended        int64  `json:"ended,omitempty"`
}

// Rolled returns the descriptor after the open shard of a slot has ended with sequence number last
// and a child was opened.
func (d *Stream) Rolled(slot int, last uint64, now int64) *Stream {
	c := *d
	c.Shards = slices.Clone(d.Shards)
	for i := range c.Shards {
		sh := &c.Shards[i]
		if sh.Slot != slot || sh.Closed {
			continue
		}
		sh.Closed, sh.Last, sh.Ended = true, last, now
		c.Shards = append(c.Shards, Shard{ID: c.NextID, Parent: sh.ID, ParentOpened: sh.Opened, Slot: slot, First: last + 1, Opened: now})
		c.NextID++
		break
	}
	return &c
}

// Ended returns the descriptor of the disabled stream, with all shards closed.
func (d *Stream) Ended(last uint64, now int64) *Stream {
	c := *d
	c.Shards = slices.Clone(d.Shards)
	c.Disabled = now
	for i := range c.Shards {
		if sh := &c.Shards[i]; !sh.Closed {
			sh.Closed, sh.Last, sh.Ended = true, last, now
		}
	}
	return &c
}

// Shard returns a shard by ID.
func (d *Stream) Shard(id uint32) (Shard, bool) {
	for _, sh := range d.Shards {
		if sh.ID == id {
			return sh, true
		}
	}
	return Shard{}, false
}

// Encode encodes the descriptor for DecodeStream.
func (d *Stream) Encode() ([]byte, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("catalog: encode stream %d: %w", d.ID, err)
	}
	return b, nil
}

// DecodeStream decodes a descriptor. Errors: ErrCorrupt of package row.
func DecodeStream(b []byte) (*Stream, error) {
	d := new(Stream)
	if err := json.Unmarshal(b, d); err != nil {
		return nil, fmt.Errorf("%w: stream descriptor: %w", row.ErrCorrupt, err)
	}
	return d, nil
}

// SequenceText formats a sequence number like DynamoDB: decimal with 21 digits. Because lengths are
// equal, the texts sort like the numbers.
func SequenceText(seq uint64) string {
	s := strconv.FormatUint(seq, 10)
	return "100000000000000000000"[:21-len(s)] + s
}

// ParseSequence parses text made by SequenceText.
func ParseSequence(s string) (uint64, bool) {
	if len(s) != 21 || s[0] != '1' {
		return 0, false
	}
	seq, err := strconv.ParseUint(s[1:], 10, 64)
	return seq, err == nil
}

// ShardID returns the name of a shard. Like DynamoDB's, it contains the time when the shard was
// opened.
func ShardID(sh Shard) string {
	return fmt.Sprintf("shardId-%020d-%08x", sh.Opened, sh.ID)
}

// FindShard returns a shard by name. Errors: ResourceNotFoundException.
func (d *Stream) FindShard(id string) (Shard, error) {
	for _, sh := range d.Shards {
		if ShardID(sh) == id {
			return sh, nil
		}
	}
	msg := "Requested resource not found: Shard does not exist: " + id
	return Shard{}, &streamtypes.ResourceNotFoundException{Message: &msg}
}

// Page returns the page of shards requested by a DescribeStream, parents before children, and the
// last shard if there are more pages. A page without shards is an empty list, not nil.
func (d *Stream) Page(in *dynamodbstreams.DescribeStreamInput, limit int) (page []streamtypes.Shard, last *string, err error) {
	after, parent := uint32(0), uint32(0)
	if in.ExclusiveStartShardId != nil {
		sh, err := d.FindShard(*in.ExclusiveStartShardId)
		if err != nil {
			return nil, nil, err
		}
		after = sh.ID
	}
	if in.ShardFilter != nil {
		sh, err := d.FindShard(*in.ShardFilter.ShardId)
		if err != nil {
			return nil, nil, err
		}
		parent = sh.ID
	}
	page = []streamtypes.Shard{}
	for _, sh := range d.Shards {
		if sh.ID <= after || parent != 0 && sh.Parent != parent {
			continue
		}
		if len(page) == limit {
			return page, page[limit-1].ShardId, nil
		}
		page = append(page, d.DescribeShard(sh))
	}
	return page, nil, nil
}

// Describe returns the stream in the form of the API, without its shards.
func (d *Stream) Describe(arn string) *streamtypes.StreamDescription {
	created := time.UnixMilli(d.Created).UTC()
	sd := &streamtypes.StreamDescription{
		StreamArn: &arn, StreamLabel: &d.Label, TableName: &d.Table, CreationRequestDateTime: &created,
		StreamStatus: streamtypes.StreamStatusEnabled, StreamViewType: streamtypes.StreamViewType(d.View),
		KeySchema: []streamtypes.KeySchemaElement{{AttributeName: &d.Hash.Name, KeyType: streamtypes.KeyTypeHash}},
	}
	if d.Range.Name != "" {
		sd.KeySchema = append(sd.KeySchema, streamtypes.KeySchemaElement{AttributeName: &d.Range.Name, KeyType: streamtypes.KeyTypeRange})
	}
	if d.Disabled != 0 {
		sd.StreamStatus = streamtypes.StreamStatusDisabled
	}
	return sd
}

// DescribeShard returns a shard in the form of the API.
func (d *Stream) DescribeShard(sh Shard) streamtypes.Shard {
	id, first := ShardID(sh), SequenceText(sh.First)
	out := streamtypes.Shard{ShardId: &id, SequenceNumberRange: &streamtypes.SequenceNumberRange{StartingSequenceNumber: &first}}
	if sh.Parent != 0 {
		// Report the parent even if it was trimmed, as DynamoDB does.
		parent := ShardID(Shard{ID: sh.Parent, Opened: sh.ParentOpened})
		out.ParentShardId = &parent
	}
	if sh.Closed {
		last := SequenceText(sh.Last)
		out.SequenceNumberRange.EndingSequenceNumber = &last
	}
	return out
}
