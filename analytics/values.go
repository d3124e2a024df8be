package analytics

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ErrValues is returned when stored values of a breakdown cannot be read.
var ErrValues = errors.New("analytics: not a breakdown's values")

// Values are the counts of a dimension's values. They are stored as one binary attribute, a fraction of the size of a
// map and of the time to read it (docs/format/analytics.md):
//
//	0x01, then for each value, sorted:
//	  uvarint  bytes that it shares with the value before
//	  uvarint  bytes that follow
//	  bytes
//	  varint   page views, visits, events: three
type Values map[string]Count

// The most values that a breakdown holds, and the bytes that their names may have.
const (
	maxValues     = 1000
	maxValueBytes = 64 << 10
)

const valuesVersion = 1

// Add adds counts to a value.
func (v *Values) Add(value string, c Count) {
	if *v == nil {
		*v = make(Values)
	}
	(*v)[value] = (*v)[value].plus(c)
}

// Sum adds all values up.
func (v Values) Sum() (sum Count) {
	for _, c := range v {
		sum = sum.plus(c)
	}
	return sum
}

// plus adds counts.
func (c Count) plus(o Count) Count {
	return Count{c.PageViews + o.PageViews, c.Visits + o.Visits, c.Events + o.Events}
}

func (c Count) minus(o Count) Count {
	return Count{c.PageViews - o.PageViews, c.Visits - o.Visits, c.Events - o.Events}
}

// weight is what decides which of many new values get the last places.
func (c Count) weight() int64 { return c.PageViews + c.Visits + c.Events }

// bounded is a set of values with the exact rest of those that found no place.
type bounded struct {
	values *Values
	other  *Count
	full   *bool
}

// merge adds a delta. While there is room, every value gets a place and values that come to zero lose theirs: order
// does not matter. Once a value finds no room the set is full for good: those that have a place keep it, even at zero,
// and what is new, now and later, is counted in the rest. So a value's count is never divided after it has a place,
// and values and rest always add up exactly.
func (b bounded) merge(delta Values) {
	if *b.values == nil {
		*b.values = make(Values, len(delta))
	}
	values, fresh := *b.values, b.fresh(delta)
	size := 0
	for v := range values {
		size += len(v)
	}
	b.rank(fresh, delta, size)
	for v, c := range delta {
		if have, ok := values[v]; ok {
			b.set(v, have.plus(c))
		}
	}
	for _, v := range fresh {
		if size += len(v); len(values) >= maxValues || size > maxValueBytes {
			*b.full = true
		}
		if *b.full {
			*b.other = b.other.plus(delta[v])
			continue
		}
		values[v] = delta[v]
	}
}

func (b bounded) set(value string, c Count) {
	if c == (Count{}) && !*b.full {
		delete(*b.values, value)
		return
	}
	(*b.values)[value] = c
}

// fresh lists the values of a delta that have no place yet.
func (b bounded) fresh(delta Values) (fresh []string) {
	for v, c := range delta {
		if _, ok := (*b.values)[v]; !ok && c != (Count{}) {
			fresh = append(fresh, v)
		}
	}
	return fresh
}

// rank puts the fresh values with the greatest counts first when not all of them will find a place beside those there
// are, whose names have size bytes.
func (b bounded) rank(fresh []string, delta Values, size int) {
	for _, v := range fresh {
		size += len(v)
	}
	if *b.full || len(*b.values)+len(fresh) <= maxValues && size <= maxValueBytes {
		return
	}
	slices.SortFunc(fresh, func(x, y string) int {
		return cmp.Or(cmp.Compare(delta[y].weight(), delta[x].weight()), cmp.Compare(x, y))
	})
}

// MarshalDynamoDBAttributeValue stores the values as binary.
func (v Values) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	buf := make([]byte, 1, 1+24*len(v))
	buf[0] = valuesVersion
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

// UnmarshalDynamoDBAttributeValue reads what MarshalDynamoDBAttributeValue stored. Errors: ErrValues.
func (v *Values) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok || len(b.Value) == 0 || b.Value[0] != valuesVersion {
		return ErrValues
	}
	r := reader{rest: b.Value[1:]}
	*v = make(Values)
	var value []byte
	for len(r.rest) > 0 && !r.bad {
		shared := r.uint()
		if shared > uint64(len(value)) {
			return ErrValues
		}
		value = append(value[:shared], r.bytes(r.uint())...)
		c := Count{r.int(), r.int(), r.int()}
		(*v)[string(value)] = c
	}
	if r.bad {
		return ErrValues
	}
	return nil
}

// reader takes numbers and bytes off an encoding; what is malformed leaves it bad, and everything after it zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) uint() uint64 {
	n, size := binary.Uvarint(r.rest)
	return n * r.took(size)
}

func (r *reader) int() int64 {
	n, size := binary.Varint(r.rest)
	return n * int64(r.took(size))
}

// took moves on behind a number of that size; 0 when there was none.
func (r *reader) took(size int) uint64 {
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return 1
}

func (r *reader) bytes(n uint64) []byte {
	if r.bad || n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}
