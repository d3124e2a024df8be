package oracle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an item; nil means none.
type Item = map[string]types.AttributeValue

// DynamoDB's limits: "Quotas" in the Developer Guide.
const (
	maxItem    = 400 << 10
	maxName    = 1<<16 - 1
	maxHash    = 2048
	maxRange   = 1024
	maxNesting = 32
	maxDigits  = 38

	maxBatch       = 25
	maxActions     = 100
	maxTransaction = 4 << 20
	maxStatement   = 8192
)

// kind returns the type descriptor of a value.
func kind(v types.AttributeValue) string {
	if v == nil {
		return "<nil>"
	}
	return strings.TrimPrefix(reflect.TypeOf(v).String(), "*types.AttributeValueMember")
}

// Text formats a value so that equal values have equal texts: sets and maps are sorted, numbers in
// plain decimal.
func Text(v types.AttributeValue) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case *types.AttributeValueMemberS:
		if len(v.Value) > longText {
			return digested("S", []byte(v.Value))
		}
		return "S" + strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return "N" + plain(v.Value)
	case *types.AttributeValueMemberB:
		if len(v.Value) > longText {
			return digested("B", v.Value)
		}
		return "B" + hex.EncodeToString(v.Value)
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberM:
		return ItemText(v.Value)
	case *types.AttributeValueMemberL:
		parts := make([]string, len(v.Value))
		for i, e := range v.Value {
			parts[i] = Text(e)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return kind(v) + "(" + strings.Join(slices.Sorted(slices.Values(members(v))), " ") + ")"
}

// longText is the size in bytes above which a value's text contains a digest instead.
const longText = 200

func digested(kind string, b []byte) string {
	return fmt.Sprintf("%s%.20q…%d bytes, SHA-256 %x", kind, b, len(b), sha256.Sum256(b))
}

// ItemText is Text for an item. The texts of no item and of an empty item differ.
func ItemText(it Item) string {
	if it == nil {
		return "none"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(it)) {
		shown := strconv.Quote(name)
		if len(name) > 40 {
			shown = fmt.Sprintf("%.20q…%d", name, len(name))
		}
		parts = append(parts, shown+":"+Text(it[name]))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// members returns the texts of a set's members.
func members(v types.AttributeValue) (texts []string) {
	for _, m := range elements(v) {
		texts = append(texts, Text(m))
	}
	return texts
}

// elements returns the members of a set or list as values.
func elements(v types.AttributeValue) (out []types.AttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			out = append(out, &types.AttributeValueMemberS{Value: s})
		}
	case *types.AttributeValueMemberNS:
		for _, s := range v.Value {
			out = append(out, &types.AttributeValueMemberN{Value: s})
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			out = append(out, &types.AttributeValueMemberB{Value: b})
		}
	case *types.AttributeValueMemberL:
		return v.Value
	}
	return out
}

// setOf returns a set with a type descriptor.
func setOf(kind string, of []types.AttributeValue) types.AttributeValue {
	switch kind {
	case "SS":
		s := &types.AttributeValueMemberSS{}
		for _, m := range of {
			s.Value = append(s.Value, m.(*types.AttributeValueMemberS).Value)
		}
		return s
	case "NS":
		s := &types.AttributeValueMemberNS{}
		for _, m := range of {
			s.Value = append(s.Value, m.(*types.AttributeValueMemberN).Value)
		}
		return s
	}
	s := &types.AttributeValueMemberBS{}
	for _, m := range of {
		s.Value = append(s.Value, m.(*types.AttributeValueMemberB).Value)
	}
	return s
}

func isSet(v types.AttributeValue) bool {
	return slices.Contains([]string{"SS", "NS", "BS"}, kind(v))
}

// rational parses a number. It returns nil if the text is not a number or DynamoDB cannot store it.
func rational(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok || strings.ContainsAny(s, "/_xXpP") {
		return nil
	}
	digits := strings.Trim(strings.ReplaceAll(strings.TrimPrefix(decimal(r), "-"), ".", ""), "0")
	lowest, highest := new(big.Rat), new(big.Rat)
	lowest.SetString("1e-130")
	highest.SetString("1e126")
	size := new(big.Rat).Abs(r)
	if len(digits) > maxDigits || r.Sign() != 0 && (size.Cmp(lowest) < 0 || size.Cmp(highest) >= 0) {
		return nil
	}
	return r
}

// decimal formats a number without superfluous zeros.
func decimal(r *big.Rat) string {
	s := strings.TrimRight(strings.TrimRight(r.FloatString(200), "0"), ".")
	if s == "-0" || s == "" {
		return "0"
	}
	return s
}

// plains caches results of plain, because the same few numbers recur.
var plains struct {
	sync.Mutex
	of map[string]string
}

func plain(s string) string {
	plains.Lock()
	defer plains.Unlock()
	if text, ok := plains.of[s]; ok {
		return text
	}
	text := "bad " + s
	if r := rational(s); r != nil {
		text = decimal(r)
	}
	if plains.of == nil || len(plains.of) > 10_000 {
		plains.of = map[string]string{}
	}
	plains.of[s] = text
	return text
}

// numberSize returns the size of a number: one byte, one per two significant digits on either side
// of the point, and one for a minus sign.
func numberSize(s string) int {
	text, negative := strings.CutPrefix(plain(s), "-")
	whole, fraction, _ := strings.Cut(text, ".")
	if fraction == "" {
		whole = strings.TrimRight(whole, "0")
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		fraction = strings.TrimLeft(fraction, "0")
	}
	size := 1 + (len(whole)+1)/2 + (len(fraction)+1)/2
	if negative {
		size++
	}
	return size
}

// Size returns the size of an item: "Item sizes and formats" in the Developer Guide.
func Size(it Item) int {
	size := 0
	for name, v := range it {
		size += len(name) + sizeOf(v)
	}
	return size
}

func sizeOf(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberM:
		return 3 + len(v.Value) + Size(v.Value)
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		return 1
	}
	size := 0
	for _, e := range elements(v) {
		size += sizeOf(e)
	}
	if kind(v) == "L" {
		size += 3 + len(elements(v))
	}
	return size
}

// validItem reports whether all names and values of an item or key are valid in a request.
func validItem(it Item) bool {
	for name, v := range it {
		if name == "" || len(name) > maxName || !validValue(v, 1) {
			return false
		}
	}
	return true
}

func validValue(v types.AttributeValue, depth int) bool {
	if depth > maxNesting {
		return false
	}
	switch v := v.(type) {
	case nil:
		return false
	case *types.AttributeValueMemberN:
		return !strings.HasPrefix(plain(v.Value), "bad ")
	case *types.AttributeValueMemberNULL:
		return v.Value
	case *types.AttributeValueMemberM:
		for name, e := range v.Value {
			if name == "" || len(name) > maxName || !validValue(e, depth+1) {
				return false
			}
		}
	}
	for _, e := range elements(v) {
		if !validValue(e, depth+1) {
			return false
		}
	}
	texts := slices.Sorted(slices.Values(members(v)))
	return !isSet(v) || len(texts) > 0 && len(slices.Compact(slices.Clone(texts))) == len(texts)
}

// order compares two strings, numbers or binaries. Other values, and values of different types, are
// not ordered.
func order(a, b types.AttributeValue) (int, bool) {
	switch x := a.(type) {
	case *types.AttributeValueMemberS:
		if y, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(x.Value, y.Value), true
		}
	case *types.AttributeValueMemberN:
		if y, ok := b.(*types.AttributeValueMemberN); ok {
			return rational(x.Value).Cmp(rational(y.Value)), true
		}
	case *types.AttributeValueMemberB:
		if y, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(x.Value, y.Value), true
		}
	}
	return 0, false
}

// clone returns a deep copy of a value.
func clone(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: cloneItem(v.Value)}
	case *types.AttributeValueMemberL:
		l := &types.AttributeValueMemberL{}
		for _, e := range v.Value {
			l.Value = append(l.Value, clone(e))
		}
		return l
	}
	return v
}

func cloneItem(it Item) Item {
	out := Item{}
	for name, v := range it {
		out[name] = clone(v)
	}
	return out
}
