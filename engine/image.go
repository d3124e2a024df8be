package engine

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// decodeImage decodes a row into the types of the streams API.
func decodeImage(row []byte) (map[string]streamtypes.AttributeValue, error) {
	it, err := decodeRow(row)
	if err != nil {
		return nil, err
	}
	return streamMap(it), nil
}

func streamMap(m map[string]types.AttributeValue) map[string]streamtypes.AttributeValue {
	out := make(map[string]streamtypes.AttributeValue, len(m))
	for name, v := range m {
		out[name] = streamValue(v)
	}
	return out
}

// streamValue is a value in the types of the streams API, which are the same under other names.
func streamValue(v types.AttributeValue) streamtypes.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return &streamtypes.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberN:
		return &streamtypes.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberB:
		return &streamtypes.AttributeValueMemberB{Value: v.Value}
	case *types.AttributeValueMemberBOOL:
		return &streamtypes.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberM:
		return &streamtypes.AttributeValueMemberM{Value: streamMap(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]streamtypes.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			list[i] = streamValue(e)
		}
		return &streamtypes.AttributeValueMemberL{Value: list}
	case *types.AttributeValueMemberSS:
		return &streamtypes.AttributeValueMemberSS{Value: v.Value}
	case *types.AttributeValueMemberNS:
		return &streamtypes.AttributeValueMemberNS{Value: v.Value}
	case *types.AttributeValueMemberBS:
		return &streamtypes.AttributeValueMemberBS{Value: v.Value}
	}
	return &streamtypes.AttributeValueMemberNULL{Value: true}
}
