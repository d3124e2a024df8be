package iamtest

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// word matches an attribute name, a placeholder (#name or :value), or a path that begins with either,
// such as a.b[0]. The first element of a path is the attribute.
var word = regexp.MustCompile(`([#:][A-Za-z0-9_]+|[A-Za-z_][A-Za-z0-9_]*)(\[[0-9]+\]|\.#?[A-Za-z0-9_]+)*`)

// keywords are the words of expressions that are not names: keywords and functions.
var keywords = map[string]bool{
	"and": true, "or": true, "not": true, "in": true, "between": true, "set": true, "remove": true, "add": true, "delete": true,
	"attribute_exists": true, "attribute_not_exists": true, "attribute_type": true, "begins_with": true, "contains": true, "size": true,
	"if_not_exists": true, "list_append": true,
}

// names is a set of names of attributes in a request.
type names map[string]bool

// in adds the top-level attributes of expressions.
func (n names) in(placeholders map[string]string, expressions ...*string) names {
	for _, e := range expressions {
		if e == nil {
			continue
		}
		for _, w := range word.FindAllString(*e, -1) {
			w, _, _ = strings.Cut(w, ".")
			w, _, _ = strings.Cut(w, "[")
			switch {
			case w[0] == ':', keywords[strings.ToLower(w)]:
			case w[0] == '#':
				n[placeholders[w]] = true
			default:
				n[w] = true
			}
		}
	}
	return n
}

// of adds the attributes of an item or key.
func (n names) of(item map[string]types.AttributeValue) names {
	for name := range item {
		n[name] = true
	}
	return n
}

func (n names) sorted() []string { return slices.Sorted(maps.Keys(n)) }

// leading returns the partition key of an item or key.
func leading(item map[string]types.AttributeValue, attribute string) []string {
	if s, ok := item[attribute].(*types.AttributeValueMemberS); ok {
		return []string{s.Value}
	}
	return []string{""} // a request without a key is refused, not allowed by ForAllValues
}
