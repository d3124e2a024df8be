package item

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Size returns how large an item counts, in bytes ("DynamoDB item sizes and formats"): the UTF-8 bytes of its names and
// the sizes of its values. The item must have been normalized.
func Size(it Item) int {
	size := 0
	for name, av := range it {
		size += len(name) + SizeOf(av)
	}
	return size
}

// SizeOf returns how large one value counts, in bytes: strings and binaries their length; NULL and BOOL 1; numbers as
// Number.Size; sets the sum of their members; lists and maps 3, and for each element 1, its name and its value.
func SizeOf(av types.AttributeValue) int {
	size := 0
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		return 1
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			size += len(s)
		}
	case *types.AttributeValueMemberNS:
		for _, s := range v.Value {
			size += numberSize(s)
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			size += len(b)
		}
	case *types.AttributeValueMemberL:
		size = 3 + len(v.Value)
		for _, e := range v.Value {
			size += SizeOf(e)
		}
	case *types.AttributeValueMemberM:
		size = 3 + len(v.Value) + Size(v.Value)
	}
	return size
}

// numberSize measures the text of a number; text that is none counts its length.
func numberSize(s string) int {
	if isPlainInt(s) {
		sign := len(s) - len(strings.TrimPrefix(s, "-"))
		return 1 + sign + (len(strings.TrimRight(s[sign:], "0"))+1)/2
	}
	n, err := ParseNumber(s)
	if err != nil {
		return len(s)
	}
	return n.Size()
}
