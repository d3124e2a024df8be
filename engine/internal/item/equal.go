package item

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Equal reports whether two values are equal by DynamoDB's operator =: of the same type, with
// numbers compared by value, sets without regard to order, and lists and maps by element.
func Equal(a, b types.AttributeValue) bool {
	switch x := a.(type) {
	case *types.AttributeValueMemberS:
		y, ok := b.(*types.AttributeValueMemberS)
		return ok && x.Value == y.Value
	case *types.AttributeValueMemberN:
		y, ok := b.(*types.AttributeValueMemberN)
		return ok && equalNumbers(x.Value, y.Value)
	case *types.AttributeValueMemberB:
		y, ok := b.(*types.AttributeValueMemberB)
		return ok && bytes.Equal(x.Value, y.Value)
	case *types.AttributeValueMemberBOOL:
		y, ok := b.(*types.AttributeValueMemberBOOL)
		return ok && x.Value == y.Value
	case *types.AttributeValueMemberNULL:
		_, ok := b.(*types.AttributeValueMemberNULL)
		return ok
	case *types.AttributeValueMemberM:
		y, ok := b.(*types.AttributeValueMemberM)
		return ok && EqualItems(x.Value, y.Value)
	case *types.AttributeValueMemberL:
		y, ok := b.(*types.AttributeValueMemberL)
		return ok && slices.EqualFunc(x.Value, y.Value, Equal)
	}
	return equalSets(a, b)
}

// EqualItems reports whether two items have the same attributes with equal values.
func EqualItems(a, b Item) bool {
	if len(a) != len(b) {
		return false
	}
	for name, av := range a {
		bv, ok := b[name]
		if !ok || !Equal(av, bv) {
			return false
		}
	}
	return true
}

func equalSets(a, b types.AttributeValue) bool {
	switch x := a.(type) {
	case *types.AttributeValueMemberSS:
		y, ok := b.(*types.AttributeValueMemberSS)
		return ok && sameMembers(x.Value, y.Value, strings.Compare)
	case *types.AttributeValueMemberNS:
		y, ok := b.(*types.AttributeValueMemberNS)
		return ok && sameMembers(x.Value, y.Value, CompareNumbers)
	case *types.AttributeValueMemberBS:
		y, ok := b.(*types.AttributeValueMemberBS)
		return ok && sameMembers(x.Value, y.Value, bytes.Compare)
	}
	return false
}

// sameMembers compares two sets. Stored sets are sorted, so the first pass is usually enough.
func sameMembers[T any](a, b []T, compare func(x, y T) int) bool {
	if len(a) != len(b) {
		return false
	}
	same := func(x, y T) bool { return compare(x, y) == 0 }
	if slices.EqualFunc(a, b, same) {
		return true
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, compare)
	slices.SortFunc(b, compare)
	return slices.EqualFunc(a, b, same)
}

func equalNumbers(a, b string) bool { return a == b || CompareNumbers(a, b) == 0 }

// CompareNumbers compares the texts of two numbers by value. Text that is not a number, which
// normalized values never contain, is compared as text.
func CompareNumbers(a, b string) int {
	if isPlainInt(a) && isPlainInt(b) {
		return comparePlain(a, b)
	}
	x, errX := ParseNumber(a)
	y, errY := ParseNumber(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return x.Cmp(y)
}

// comparePlain compares two canonical integers: of two positive ones, the longer is greater.
func comparePlain(a, b string) int {
	negA, negB := a[0] == '-', b[0] == '-'
	switch {
	case negA && negB:
		a, b = b, a
	case negA:
		return -1
	case negB:
		return 1
	}
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// Compare orders two values like DynamoDB's keys and operators < and >: strings by their UTF-8
// bytes, numbers by value, binaries by unsigned bytes. ok is false if the types differ or are not
// ordered.
func Compare(a, b types.AttributeValue) (order int, ok bool) {
	switch x := a.(type) {
	case *types.AttributeValueMemberS:
		if y, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(x.Value, y.Value), true
		}
	case *types.AttributeValueMemberN:
		if y, ok := b.(*types.AttributeValueMemberN); ok {
			return CompareNumbers(x.Value, y.Value), true
		}
	case *types.AttributeValueMemberB:
		if y, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(x.Value, y.Value), true
		}
	}
	return 0, false
}

// TypeName returns the descriptor of a value's type ("S", "NS", "BOOL", …), or "" for nil.
func TypeName(av types.AttributeValue) string {
	switch av.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberM:
		return "M"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberBS:
		return "BS"
	}
	return ""
}
