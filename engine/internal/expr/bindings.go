package expr

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// Bindings are the ExpressionAttributeNames and ExpressionAttributeValues of a request. All
// expressions of the request are bound with the same Bindings; then CheckUnused finds unused
// entries. A nil *Bindings is empty. Bindings are not safe for concurrent use.
type Bindings struct {
	names      map[string]string
	values     map[string]types.AttributeValue
	usedNames  []string
	usedValues []string
}

// NewBindings validates the placeholders and values of a request. A nil map means that the
// parameter was not given; an empty map is an error. Values are normalized; the maps given are not
// modified.
func NewBindings(names map[string]string, values map[string]types.AttributeValue) (*Bindings, error) {
	if names == nil && values == nil {
		return nil, nil
	}
	if err := checkNames(names); err != nil {
		return nil, err
	}
	if err := checkSize(names, nil); err != nil {
		return nil, err
	}
	if values == nil {
		return &Bindings{names: names}, nil
	}
	if len(values) == 0 {
		return nil, refuse("", "ExpressionAttributeValues must not be empty")
	}
	if reason := checkPlaceholders(values, ':'); reason != "" {
		return nil, refuse("", "ExpressionAttributeValues contains invalid key: %s", reason)
	}
	normal, err := normalizeValues(values)
	if err != nil {
		return nil, err
	}
	if err := checkSize(names, normal); err != nil {
		return nil, err
	}
	return &Bindings{names: names, values: normal}, nil
}

func checkNames(names map[string]string) error {
	if names == nil {
		return nil
	}
	if len(names) == 0 {
		return refuse("", "ExpressionAttributeNames must not be empty")
	}
	if reason := checkPlaceholders(names, '#'); reason != "" {
		return refuse("", "ExpressionAttributeNames contains invalid key: %s", reason)
	}
	for key, name := range names {
		if err := item.CheckName(name); err != nil {
			return refuse("", "ExpressionAttributeNames contains invalid value: %v for key %s", err, key)
		}
	}
	return nil
}

// checkSize rejects names and values whose total size is too large. The limit is DynamoDB's; its
// message is not known.
func checkSize(names map[string]string, values map[string]types.AttributeValue) error {
	size := 0
	for _, name := range names {
		size += len(name)
	}
	for _, av := range values {
		size += item.SizeOf(av)
	}
	if size > maxBound {
		return refuse("", "ExpressionAttributeNames and ExpressionAttributeValues have exceeded the maximum allowed size of 2 MB; size: %d", size)
	}
	return nil
}

func normalizeValues(values map[string]types.AttributeValue) (map[string]types.AttributeValue, error) {
	out, copied := values, false
	for key, av := range values {
		nv, err := item.NormalizeValue(av)
		if errors.Is(err, item.ErrNesting) {
			return nil, refuse("", "%v", err)
		}
		if err != nil {
			return nil, refuse("", "ExpressionAttributeValues contains invalid value: %v for key %s", err, key)
		}
		if nv == av {
			continue
		}
		if !copied {
			out, copied = maps.Clone(values), true
		}
		out[key] = nv
	}
	return out, nil
}

// checkPlaceholders returns the error of the smallest invalid key, so that the message does not
// depend on the order of the map, or "" if all keys are valid.
func checkPlaceholders[V any](m map[string]V, sign byte) string {
	key, bad := "", false
	for k := range m {
		if !isPlaceholder(k, sign) && (!bad || k < key) {
			key, bad = k, true
		}
	}
	switch {
	case !bad:
		return ""
	case len(key) > maxPlaceholder:
		return "The expression attribute map contains a key that is too long; size of key: " + strconv.Itoa(len(key))
	}
	return "Syntax error; key: " + strconv.Quote(key)
}

// isPlaceholder reports whether a key is the sign followed by letters, digits and underscores, and
// not too long.
func isPlaceholder(key string, sign byte) bool {
	if len(key) < 2 || len(key) > maxPlaceholder || key[0] != sign {
		return false
	}
	for i := 1; i < len(key); i++ {
		if !isWord(key[i]) {
			return false
		}
	}
	return true
}

// CheckUnused rejects placeholders that no expression of the request used.
func (b *Bindings) CheckUnused() error {
	if b == nil {
		return nil
	}
	if unused := notIn(b.names, b.usedNames); unused != nil {
		return refuse("", "Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", strings.Join(unused, ", "))
	}
	if unused := notIn(b.values, b.usedValues); unused != nil {
		return refuse("", "Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", strings.Join(unused, ", "))
	}
	return nil
}

func notIn[V any](defined map[string]V, used []string) []string {
	var unused []string
	sorted := len(used) > 16
	if sorted {
		slices.Sort(used)
	}
	for key := range defined {
		found := !sorted && slices.Contains(used, key)
		if sorted {
			_, found = slices.BinarySearch(used, key)
		}
		if !found {
			unused = append(unused, key)
		}
	}
	slices.Sort(unused)
	return unused
}

// name resolves "#x".
func (b *Bindings) name(placeholder string) (string, bool) {
	if b == nil {
		return "", false
	}
	name, ok := b.names[placeholder]
	if ok {
		b.usedNames = append(b.usedNames, placeholder)
	}
	return name, ok
}

// value resolves ":x".
func (b *Bindings) value(placeholder string) (types.AttributeValue, bool) {
	if b == nil {
		return nil, false
	}
	av, ok := b.values[placeholder]
	if ok {
		b.usedValues = append(b.usedValues, placeholder)
	}
	return av, ok
}
