package tally

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/internal/varint"
)

// ErrMalformed is returned when stored bytes are not values.
var ErrMalformed = errors.New("tally: not the counts of values")

// Values are stored as one binary attribute, a fraction of the size of a map and of the time to read it
// (docs/format/analytics.md):
//
//	0x01, then for each value, sorted:
//	  uvarint  bytes that it shares with the value before
//	  uvarint  bytes that follow
//	  bytes
//	  varint   page views, visits, events: three
const version = 1

// MarshalDynamoDBAttributeValue stores the values as binary.
func (v Values) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	buf := make([]byte, 1, 1+24*len(v))
	buf[0] = version
	before := ""
	for _, value := range slices.Sorted(maps.Keys(v)) {
		shared := 0
		for shared < min(len(before), len(value)) && before[shared] == value[shared] {
			shared++
		}
		buf = binary.AppendUvarint(buf, uint64(shared))
		buf = binary.AppendUvarint(buf, uint64(len(value)-shared))
		buf = append(buf, value[shared:]...)
		c := v[value]
		buf = binary.AppendVarint(buf, c.PageViews)
		buf = binary.AppendVarint(buf, c.Visits)
		buf = binary.AppendVarint(buf, c.Events)
		before = value
	}
	return &types.AttributeValueMemberB{Value: buf}, nil
}

// UnmarshalDynamoDBAttributeValue reads what MarshalDynamoDBAttributeValue stored. Errors: ErrMalformed.
func (v *Values) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok || len(b.Value) == 0 || b.Value[0] != version {
		return ErrMalformed
	}
	r := varint.NewReader(b.Value[1:])
	*v = make(Values)
	var value []byte
	for r.More() {
		shared := r.Uint()
		if shared > uint64(len(value)) {
			return ErrMalformed
		}
		value = append(value[:shared], r.Bytes(r.Uint())...)
		c := Count{r.Int(), r.Int(), r.Int()}
		(*v)[string(value)] = c
	}
	if r.Failed() {
		return ErrMalformed
	}
	return nil
}
