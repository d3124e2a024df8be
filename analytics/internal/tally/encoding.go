package tally

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/analytics/internal/vitals"
	"github.com/onefold/onefold/internal/varint"
)

// ErrMalformed is returned when stored bytes are not encoded values.
var ErrMalformed = errors.New("tally: not the counts of values")

// Values are stored as one binary attribute, which is much smaller and faster to read than a map
// (docs/format/analytics.md):
//
//	0x02, then for each value, sorted:
//	  uvarint  length of the prefix shared with the previous value
//	  uvarint  length of the rest
//	  bytes    the rest
//	  uvarint  bit mask: a bit for each nonzero number of (*Count).numbers, then revenue, then vitals
//	  varint   each of these numbers
//	  uvarint  length of the revenue, and its bytes, if its bit is set; the same for vitals
//
// Format 0x01, which is only read, has three varints after the bytes: page views, visits and
// events.
const (
	version       = 2
	versionBefore = 1

	revenueBit = 1 << 8
	vitalsBit  = 1 << 9
)

// MarshalDynamoDBAttributeValue encodes the values as a binary attribute.
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
		buf = c.append(buf)
		before = value
	}
	return &types.AttributeValueMemberB{Value: buf}, nil
}

func (c *Count) append(buf []byte) []byte {
	mask := uint64(0)
	numbers := c.numbers()
	for i, n := range numbers {
		if *n != 0 {
			mask |= 1 << i
		}
	}
	if c.Revenue != "" {
		mask |= revenueBit
	}
	if c.Vitals != "" {
		mask |= vitalsBit
	}
	buf = binary.AppendUvarint(buf, mask)
	for _, n := range numbers {
		if *n != 0 {
			buf = binary.AppendVarint(buf, *n)
		}
	}
	if c.Revenue != "" {
		buf = binary.AppendUvarint(buf, uint64(len(c.Revenue)))
		buf = append(buf, c.Revenue...)
	}
	if c.Vitals != "" {
		buf = binary.AppendUvarint(buf, uint64(len(c.Vitals)))
		buf = append(buf, c.Vitals...)
	}
	return buf
}

func (c *Count) read(r *varint.Reader) {
	mask := r.Uint()
	for i, n := range c.numbers() {
		if mask&(1<<i) != 0 {
			*n = r.Int()
		}
	}
	if mask&revenueBit != 0 {
		c.Revenue = string(r.Bytes(r.Uint()))
	}
	if mask&vitalsBit != 0 {
		var err error
		if c.Vitals, err = vitals.Parse(r.Bytes(r.Uint())); err != nil {
			r.Fail()
		}
	}
}

// UnmarshalDynamoDBAttributeValue decodes what MarshalDynamoDBAttributeValue encoded. Errors:
// ErrMalformed.
func (v *Values) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok || len(b.Value) == 0 || b.Value[0] != version && b.Value[0] != versionBefore {
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
		if b.Value[0] == versionBefore {
			(*v)[string(value)] = Count{PageViews: r.Int(), Visits: r.Int(), Events: r.Int()}
			continue
		}
		var c Count
		c.read(&r)
		(*v)[string(value)] = c
	}
	if r.Failed() {
		return ErrMalformed
	}
	return nil
}
