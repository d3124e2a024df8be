package blueprint

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo/dynamojson"
	"github.com/onefold/onefold/table"
)

// textOf returns the value of a string attribute, or "" if there is none.
func textOf(it table.Item, name string) string {
	s, ok := it[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

// itemJSON returns an item in the API's JSON, with sorted attributes.
func itemJSON(it table.Item) []byte {
	const head = `{"Item":`
	b := dynamojson.AppendOrdered(nil, &types.PutRequest{Item: it})
	return b[len(head) : len(b)-1]
}

// valueText formats a value for readers, without type names.
func valueText(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberB:
		return strconv.Itoa(len(v.Value)) + " bytes"
	case *types.AttributeValueMemberNULL:
		return "–"
	case *types.AttributeValueMemberL:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, valueText(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *types.AttributeValueMemberM:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, name+": "+valueText(v.Value[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	b := itemJSON(table.Item{"v": av})
	return string(b[len(`{"v":`) : len(b)-1])
}

// TypeLetter returns the API's name of a value's type, such as S or BOOL.
func TypeLetter(av types.AttributeValue) string {
	name, _, _ := strings.Cut(string(itemJSON(table.Item{"v": av})[len(`{"v":{"`):]), `"`)
	return name
}

// sortedNames returns the names of the attributes that are not keys.
func sortedNames(it table.Item) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(it)) {
		if name == table.AttrPK || name == table.AttrSK || name == table.AttrEntity || indexKey.MatchString(name) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// indexKey matches the names of index key attributes: see table.Index.
var indexKey = regexp.MustCompile(`^gsi[0-9]+[ps]k$`)

// indexed returns the number of indexes that contain an item.
func indexed(it table.Item) int {
	n := 0
	for name := range it {
		if indexKey.MatchString(name) && strings.HasSuffix(name, "pk") {
			n++
		}
	}
	return n
}

func sameKey(a, b table.Item) bool {
	return textOf(a, table.AttrPK) == textOf(b, table.AttrPK) && textOf(a, table.AttrSK) == textOf(b, table.AttrSK)
}

func compareText(a, b string) int { return cmp.Compare(a, b) }
