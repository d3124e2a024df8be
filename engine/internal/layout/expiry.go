package layout

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Expiry returns the value of an expiry attribute, a number of seconds since 1970. Other types
// never expire.
func Expiry(v types.AttributeValue) (int64, bool) {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}
	if at, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
		return at, at > 0
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	if err != nil || f <= 0 || f >= 1<<62 {
		return 0, false
	}
	return int64(f), true
}
