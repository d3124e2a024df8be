package row

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// DecodeImage decodes a row to the types of the streams API.
func DecodeImage(row []byte) (map[string]streamtypes.AttributeValue, error) {
	it, err := Decode(row)
	if err != nil {
		return nil, err
	}
	return streamMap(it), nil
}

// streamMap converts a map. Strings, which are most of the values, are allocated together.
func streamMap(m map[string]types.AttributeValue) map[string]streamtypes.AttributeValue {
	out := make(map[string]streamtypes.AttributeValue, len(m))
	texts := make([]streamtypes.AttributeValueMemberS, 0, len(m))
	for name, v := range m {
		if s, ok := v.(*types.AttributeValueMemberS); ok {
			texts = append(texts, streamtypes.AttributeValueMemberS{Value: s.Value})
			out[name] = &texts[len(texts)-1]
			continue
		}
		out[name] = streamValue(v)
	}
	return out
}

// streamValue converts a value to the streams API, whose types are the same under different names.
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

// FillKeys sets a record's keys from an image, unless present, and returns their size in bytes. The
// keys are the attributes hash and, unless it is "", rng.
func FillKeys(body *streamtypes.StreamRecord, hash, rng string) int {
	if body.Keys == nil {
		image := body.NewImage
		if image == nil {
			image = body.OldImage
		}
		body.Keys = make(map[string]streamtypes.AttributeValue, 2)
		body.Keys[hash] = image[hash]
		if rng != "" {
			body.Keys[rng] = image[rng]
		}
	}
	size := 0
	for name, v := range body.Keys {
		size += len(name) + streamKeySize(v)
	}
	return size
}

func streamKeySize(v streamtypes.AttributeValue) int {
	switch v := v.(type) {
	case *streamtypes.AttributeValueMemberS:
		return len(v.Value)
	case *streamtypes.AttributeValueMemberB:
		return len(v.Value)
	case *streamtypes.AttributeValueMemberN:
		return item.SizeOf(&types.AttributeValueMemberN{Value: v.Value})
	}
	return 0
}
