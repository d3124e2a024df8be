package visits

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/internal/varint"
)

// Depth is how deep a visitor saw a page in a day.
type Depth struct {
	Page    string
	Percent int64
}

// Depths are the greatest depth of each page, sorted by page; of the least MaxPages pages, as in List.
type Depths []Depth

// Find says where a page is, or would be.
func (ds Depths) Find(page string) (int, bool) {
	return slices.BinarySearchFunc(ds, page, func(d Depth, page string) int { return strings.Compare(d.Page, page) })
}

// Add notes a depth. The list itself may be shared.
func (ds *Depths) Add(d Depth) {
	i, found := ds.Find(d.Page)
	switch {
	case found && (*ds)[i].Percent >= d.Percent, !found && i >= MaxPages:
		return
	case found:
		*ds = slices.Clone(*ds)
		(*ds)[i] = d
	default:
		*ds = slices.Insert(slices.Clone(*ds), i, d)
		*ds = (*ds)[:min(len(*ds), MaxPages)]
	}
}

// Merge notes the depths of another part of the day.
func (ds *Depths) Merge(os Depths) {
	for _, o := range os {
		ds.Add(o)
	}
}

// Depths are one binary attribute (docs/format/analytics.md):
//
//	0x01, then of each, sorted by page:  uvarint length, bytes of the page; uvarint percent
const depthsVersion = 1

// MarshalDynamoDBAttributeValue stores the depths as binary.
func (ds Depths) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	buf := make([]byte, 1, 1+24*len(ds))
	buf[0] = depthsVersion
	for _, d := range ds {
		buf = binary.AppendUvarint(buf, uint64(len(d.Page)))
		buf = append(buf, d.Page...)
		buf = binary.AppendUvarint(buf, uint64(d.Percent))
	}
	return &types.AttributeValueMemberB{Value: buf}, nil
}

// UnmarshalDynamoDBAttributeValue reads what MarshalDynamoDBAttributeValue stored. Errors: ErrMalformed.
func (ds *Depths) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok || len(b.Value) == 0 || b.Value[0] != depthsVersion {
		return ErrMalformed
	}
	r := varint.NewReader(b.Value[1:])
	*ds = nil
	for r.More() {
		*ds = append(*ds, Depth{string(r.Bytes(r.Uint())), int64(r.Uint())})
	}
	if r.Failed() {
		return ErrMalformed
	}
	return nil
}
