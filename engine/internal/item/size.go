package item

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Size returns the size of an item in bytes ("DynamoDB item sizes and formats"): the UTF-8 bytes of
// its names plus the sizes of its values. The item must be normalized.
func Size(it Item) int {
	size := 0
	for name, av := range it {
		size += len(name) + SizeOf(av)
	}
	return size
}

// SizeOf returns the size of a value in bytes: the length of strings and binaries; 1 for NULL and
// BOOL; Number.Size for numbers; the sum of its members for a set; 3 for a list or map, plus for
// each element 1, its name and its value.
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

// numberSize returns the size of a number given as text, or the length of text that is not a
// number.
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
