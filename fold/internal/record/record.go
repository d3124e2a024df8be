// Package record converts the images in records of a DynamoDB stream.
package record

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/table"
)

// Image converts an image of a stream record. The SDK has the same ten attribute types under
// different names in two packages. Most attributes are strings and numbers, so those are allocated
// in groups.
func Image(m map[string]streamtypes.AttributeValue) table.Item {
	if m == nil {
		return nil
	}
	var c converter
	return c.attributes(m)
}

type converter struct {
	strings []types.AttributeValueMemberS
	numbers []types.AttributeValueMemberN
}

func (c *converter) attributes(m map[string]streamtypes.AttributeValue) map[string]types.AttributeValue {
	out := make(map[string]types.AttributeValue, len(m))
	c.reserve(len(m))
	for name, v := range m {
		out[name] = c.value(v)
	}
	return out
}

// reserve makes room for the values of a map, assuming that a third are numbers.
func (c *converter) reserve(n int) {
	if cap(c.strings)-len(c.strings) < n {
		c.strings = make([]types.AttributeValueMemberS, 0, n)
	}
	if cap(c.numbers)-len(c.numbers) < n {
		c.numbers = make([]types.AttributeValueMemberN, 0, max(n/3, 4))
	}
}

func (c *converter) value(v streamtypes.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *streamtypes.AttributeValueMemberS:
		return c.text(v.Value)
	case *streamtypes.AttributeValueMemberN:
		return c.number(v.Value)
	case *streamtypes.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: c.attributes(v.Value)}
	case *streamtypes.AttributeValueMemberL:
		list := make([]types.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			list[i] = c.value(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	case *streamtypes.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: v.Value}
	case *streamtypes.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}
	case *streamtypes.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: v.Value}
	case *streamtypes.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: v.Value}
	case *streamtypes.AttributeValueMemberBS:
		return &types.AttributeValueMemberBS{Value: v.Value}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

// text makes a string value in reserved room. A full slice is replaced and never grown, because
// values point into it.
func (c *converter) text(s string) types.AttributeValue {
	if len(c.strings) == cap(c.strings) {
		c.strings = make([]types.AttributeValueMemberS, 0, 8)
	}
	c.strings = append(c.strings, types.AttributeValueMemberS{Value: s})
	return &c.strings[len(c.strings)-1]
}

func (c *converter) number(s string) types.AttributeValue {
	if len(c.numbers) == cap(c.numbers) {
		c.numbers = make([]types.AttributeValueMemberN, 0, 8)
	}
	c.numbers = append(c.numbers, types.AttributeValueMemberN{Value: s})
	return &c.numbers[len(c.numbers)-1]
}

// Entity returns the entity name in an image, without converting the image.
func Entity(m map[string]streamtypes.AttributeValue) string {
	s, ok := m[table.AttrEntity].(*streamtypes.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}
