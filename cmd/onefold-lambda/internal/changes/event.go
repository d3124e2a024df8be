package changes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo/dynamojson"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// batch is a batch of a DynamoDB stream with a tumbling window, as sent by Lambda.
// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-windows.html
type batch struct {
	Records []record        `json:"Records"`
	Shard   string          `json:"shardId"`
	State   json.RawMessage `json:"state"`
}

type record struct {
	ID      string `json:"eventID"`
	Kind    string `json:"eventName"`
	Source  string `json:"eventSource"`
	Changed struct {
		At  float64         `json:"ApproximateCreationDateTime"` // Unix seconds
		Seq string          `json:"SequenceNumber"`
		Old json.RawMessage `json:"OldImage"`
		New json.RawMessage `json:"NewImage"`
	} `json:"dynamodb"`
	By *struct {
		Type string `json:"type"`
		ID   string `json:"principalId"`
	} `json:"userIdentity"`
}

var (
	errEvent = errors.New("bad_event: the event is not a batch of a DynamoDB stream; set ONEFOLD_MODE to match the function's event source")
	errShard = errors.New("no_shard: the batch does not name its shard; give the event source mapping a tumbling window, for example TumblingWindowInSeconds: 10")
)

// decode parses an event.
func decode(payload []byte) (*batch, error) {
	b := new(batch)
	if err := json.Unmarshal(payload, b); err != nil {
		return nil, fmt.Errorf("%w (%v)", errEvent, err)
	}
	if b.Records == nil && b.Shard == "" {
		return nil, errEvent
	}
	for i := range b.Records {
		switch r := &b.Records[i]; {
		case r.Source != "aws:dynamodb", r.Changed.Seq == "":
			return nil, errEvent
		case b.Shard == "":
			return nil, errShard
		}
	}
	return b, nil
}

// change converts a record to a change.
func (r *record) change(shard string) (c fold.Change, err error) {
	c = fold.Change{Shard: shard, Seq: fold.Sequence(r.Changed.Seq), At: at(r.Changed.At), Kind: kindOf(r.Kind)}
	c.Expired = c.Kind == fold.Remove && r.By != nil && r.By.Type == "Service" && r.By.ID == "dynamodb.amazonaws.com"
	if c.Old, err = image(r.Changed.Old); err == nil {
		c.New, err = image(r.Changed.New)
	}
	if err != nil {
		return c, fmt.Errorf("bad_record: cannot read the image of record %s: %w", r.Changed.Seq, err)
	}
	return c, nil
}

// at converts Unix seconds to a time, with milliseconds if the number has fractions.
func at(seconds float64) time.Time { return time.UnixMilli(int64(math.Round(seconds * 1000))) }

func kindOf(name string) fold.Kind {
	for _, k := range []fold.Kind{fold.Insert, fold.Remove} {
		if k.String() == name {
			return k
		}
	}
	return fold.Modify
}

// image decodes an item; nil if there is none.
func image(text json.RawMessage) (table.Item, error) {
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return nil, nil
	}
	var m types.AttributeValueMemberM
	if err := dynamojson.Decode(text, &m); err != nil {
		return nil, err
	}
	return m.Value, nil
}

// answer names the records to send again. It must have a state: otherwise Lambda treats the
// invocation of a window as failed.
type answer struct {
	State    json.RawMessage `json:"state"`
	Failures []failure       `json:"batchItemFailures"`
}

type failure struct {
	Sequence string `json:"itemIdentifier"`
}

func (b *batch) answer(failed string) ([]byte, error) {
	a := answer{State: b.State, Failures: []failure{}}
	if len(a.State) == 0 || bytes.Equal(a.State, []byte("null")) {
		a.State = json.RawMessage("{}")
	}
	if failed != "" {
		a.Failures = append(a.Failures, failure{failed})
	}
	return json.Marshal(a)
}
