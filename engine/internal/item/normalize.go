package item

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MaxName is the maximum length of an attribute name in bytes.
const MaxName = 1<<16 - 1

// CheckName rejects invalid attribute names.
func CheckName(name string) error {
	switch {
	case name == "":
		return ErrNoName
	case len(name) > MaxName:
		return ErrLongName
	}
	return nil
}

// Normalize validates all names and values of an item by DynamoDB's rules (types present, nesting,
// sets neither empty nor with duplicates, NULL true, range and precision of numbers) and makes
// numbers canonical. It does not modify its argument: it returns the same map if nothing changed,
// otherwise a map that shares unchanged values. The text of an error is DynamoDB's message.
func Normalize(it Item) (Item, error) {
	out, _, err := normalizeMap(it, 1)
	return out, err
}

// NormalizeValue is Normalize for a single value.
func NormalizeValue(av types.AttributeValue) (types.AttributeValue, error) {
	out, _, err := normalize(av, 1)
	return out, err
}

func normalizeMap(m Item, depth int) (Item, bool, error) {
	var out Item
	for name, av := range m {
		if err := CheckName(name); err != nil {
			return nil, false, err
		}
		nv, changed, err := normalize(av, depth)
		if err != nil {
			return nil, false, err
		}
		if !changed {
			continue
		}
		if out == nil {
			out = cloneShallow(m)
		}
		out[name] = nv
	}
	if out == nil {
		return m, false, nil
	}
	return out, true, nil
}

func cloneShallow(m Item) Item {
	out := make(Item, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func normalizeList(l []types.AttributeValue, depth int) ([]types.AttributeValue, bool, error) {
	var out []types.AttributeValue
	for i, av := range l {
		nv, changed, err := normalize(av, depth)
		if err != nil {
			return nil, false, err
		}
		if !changed {
			continue
		}
		if out == nil {
			out = slices.Clone(l)
		}
		out[i] = nv
	}
	if out == nil {
		return l, false, nil
	}
	return out, true, nil
}

// normalize returns the canonical form of a value, and whether it differs from av.
func normalize(av types.AttributeValue, depth int) (types.AttributeValue, bool, error) {
	if depth > MaxNesting {
		return nil, false, ErrNesting
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberS, *types.AttributeValueMemberB, *types.AttributeValueMemberBOOL:
		return av, false, nil
	case *types.AttributeValueMemberN:
		text, err := canonicalNumber(v.Value)
		if err != nil || text == v.Value {
			return av, false, err
		}
		return &types.AttributeValueMemberN{Value: text}, true, nil
	case *types.AttributeValueMemberNULL:
		if !v.Value {
			return nil, false, ErrNull
		}
		return av, false, nil
	case *types.AttributeValueMemberM:
		m, changed, err := normalizeMap(v.Value, depth+1)
		if err != nil || !changed {
			return av, false, err
		}
		return &types.AttributeValueMemberM{Value: m}, true, nil
	case *types.AttributeValueMemberL:
		l, changed, err := normalizeList(v.Value, depth+1)
		if err != nil || !changed {
			return av, false, err
		}
		return &types.AttributeValueMemberL{Value: l}, true, nil
	}
	return normalizeSet(av)
}

func normalizeSet(av types.AttributeValue) (types.AttributeValue, bool, error) {
	switch v := av.(type) {
	case *types.AttributeValueMemberSS:
		if len(v.Value) == 0 {
			return nil, false, ErrEmptyStringSet
		}
		if hasDuplicates(v.Value, strings.Compare) {
			text := "One or more parameter values were invalid: Input collection [" + strings.Join(v.Value, ", ") +
				"] contains duplicates."
			return nil, false, &detailError{cause: ErrDuplicate, detail: text, whole: true}
		}
		return av, false, nil
	case *types.AttributeValueMemberBS:
		if len(v.Value) == 0 {
			return nil, false, ErrEmptyBinarySet
		}
		if hasDuplicates(v.Value, bytes.Compare) {
			members := make([]string, len(v.Value))
			for i, b := range v.Value {
				members[i] = base64.StdEncoding.EncodeToString(b)
			}
			text := "One or more parameter values were invalid: Input collection [" + strings.Join(members, ", ") +
				"]of type BS contains duplicates."
			return nil, false, &detailError{cause: ErrDuplicate, detail: text, whole: true}
		}
		return av, false, nil
	case *types.AttributeValueMemberNS:
		return normalizeNumbers(v)
	}
	return nil, false, ErrNoType
}

func normalizeNumbers(v *types.AttributeValueMemberNS) (types.AttributeValue, bool, error) {
	if len(v.Value) == 0 {
		return nil, false, ErrEmptyNumberSet
	}
	out, changed := v.Value, false
	for i, s := range v.Value {
		text, err := canonicalNumber(s)
		if err != nil {
			return nil, false, err
		}
		if text == s {
			continue
		}
		if !changed {
			out, changed = slices.Clone(v.Value), true
		}
		out[i] = text
	}
	// Numbers are equal exactly if their canonical forms are.
	if hasDuplicates(out, strings.Compare) {
		return nil, false, ErrDuplicate
	}
	if !changed {
		return v, false, nil
	}
	return &types.AttributeValueMemberNS{Value: out}, true, nil
}

// hasDuplicates reports whether two members are equal. Small sets, the usual case, are compared in
// pairs.
func hasDuplicates[T any](set []T, compare func(a, b T) int) bool {
	if len(set) <= 8 {
		for i, a := range set {
			for _, b := range set[:i] {
				if compare(a, b) == 0 {
					return true
				}
			}
		}
		return false
	}
	sorted := slices.Clone(set)
	slices.SortFunc(sorted, compare)
	for i := range sorted[1:] {
		if compare(sorted[i], sorted[i+1]) == 0 {
			return true
		}
	}
	return false
}

// canonicalNumber returns a number as DynamoDB returns it. For canonical integers of up to 18
// digits this is s itself, which takes no work.
func canonicalNumber(s string) (string, error) {
	if isPlainInt(s) {
		return s, nil
	}
	n, err := ParseNumber(s)
	if err != nil {
		return "", err
	}
	var buf [160]byte
	text := n.AppendText(buf[:0])
	if string(text) == s {
		return s, nil
	}
	return string(text), nil
}

// isPlainInt reports whether s is a canonical integer of at most 18 digits.
func isPlainInt(s string) bool {
	digits := s
	if len(s) > 1 && s[0] == '-' {
		digits = s[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return false
	}
	if digits[0] == '0' {
		return s == "0"
	}
	for i := range len(digits) {
		if digits[i]-'0' > 9 {
			return false
		}
	}
	return true
}

// plainInt returns the value of text accepted by isPlainInt.
func plainInt(s string) int64 {
	neg := s[0] == '-'
	if neg {
		s = s[1:]
	}
	n := int64(0)
	for i := range len(s) {
		n = n*10 + int64(s[i]-'0')
	}
	if neg {
		return -n
	}
	return n
}
