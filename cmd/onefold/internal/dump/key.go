package dump

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// keyText returns a canonical text of a key attribute, so that keys can be compared.
func keyText(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return numberText(v.Value)
	case *types.AttributeValueMemberB:
		return string(v.Value)
	}
	return "" // rejected by the put
}

// numberText returns the canonical form of a number: 1, 1.0 and 10e-1 are the same key. An invalid
// number is returned unchanged; the put rejects it.
func numberText(text string) string {
	sign, rest := "", text
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		sign, rest = strings.TrimPrefix(rest[:1], "+"), rest[1:]
	}
	exponent := 0
	if at := strings.IndexAny(rest, "eE"); at >= 0 {
		n, err := strconv.ParseInt(rest[at+1:], 10, 32)
		if err != nil {
			return text
		}
		exponent, rest = int(n), rest[:at]
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "0"
	}
	return sign + significant + "e" + strconv.Itoa(exponent-len(fraction)+len(digits)-len(significant))
}
