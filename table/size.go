package table

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// ItemSize returns the size of an item in bytes by DynamoDB's rules: names and values count;
// numbers take about a byte for two digits.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func ItemSize(it Item) int {
	n := 0
	for name, av := range it {
		n += len(name) + valueSize(av)
	}
	return n
}

func valueSize(av types.AttributeValue) int {
	n := 0
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s)
		}
	case *types.AttributeValueMemberNS:
		for _, s := range v.Value {
			n += numberSize(s)
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			n += len(b)
		}
	case *types.AttributeValueMemberL:
		n = 3
		for _, item := range v.Value {
			n += 1 + valueSize(item)
		}
	case *types.AttributeValueMemberM:
		n = 3
		for name, item := range v.Value {
			n += 1 + len(name) + valueSize(item)
		}
	default: // BOOL and NULL
		n = 1
	}
	return n
}

func numberSize(s string) int { return (len(s)+1)/2 + 1 }
