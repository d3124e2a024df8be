package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Random generates random requests for a table. Most are valid; each invalid one has a single
// fault.
type Random struct {
	*rand.Rand
	Table *Table
}

func (r *Random) one(in int) bool { return r.IntN(in) == 0 }

func pick[T any](r *Random, of ...T) T { return of[r.IntN(len(of))] }

// The attributes of items, each with its usual type.
var attributes = []struct{ name, kind string }{
	{"s", "S"}, {"nu", "N"}, {"b", "B"}, {"bo", "BOOL"}, {"nn", "NULL"}, {"m", "M"}, {"l", "L"}, {"ss", "SS"}, {"ns", "NS"}, {"bs", "BS"}, {"g", "S"}, {"h", "N"},
}

// attribute returns a random attribute with a type.
func (r *Random) attribute() (name, kind string) {
	a := attributes[r.IntN(len(attributes))]
	if r.one(12) {
		a.kind = attributes[r.IntN(len(attributes))].kind
	}
	return a.name, a.kind
}

func (r *Random) text() string { return pick(r, "", "a", "ab", "b", "é", "😀", "a\x00b") }

func (r *Random) number() string {
	if r.one(40) {
		return pick(r, "1e125", "-9.9e125", "1e-130", "99999999999999999999999999999999999999", "0.00000000000000000000000000000000000001")
	}
	return pick(r, "0", "1", "2", "-1", "3.5", "-0.25", "100", "1e2", "007", "-0", ".5", "12345678901234567890")
}

// value returns a valid value of a type.
func (r *Random) value(kind string, depth int) types.AttributeValue {
	s, n, b := r.text(), r.number(), []byte(r.text())
	switch kind {
	case "S":
		return &types.AttributeValueMemberS{Value: s}
	case "N":
		return &types.AttributeValueMemberN{Value: n}
	case "B":
		return &types.AttributeValueMemberB{Value: b}
	case "BOOL":
		return &types.AttributeValueMemberBOOL{Value: r.one(2)}
	case "NULL":
		return &types.AttributeValueMemberNULL{Value: true}
	case "M":
		m := Item{}
		for range r.IntN(3) {
			m[pick(r, "x", "y", "l")] = r.value(r.kind(depth), depth+1)
		}
		return &types.AttributeValueMemberM{Value: m}
	case "L":
		l := []types.AttributeValue{}
		for range r.IntN(4) {
			l = append(l, r.value(r.kind(depth), depth+1))
		}
		return &types.AttributeValueMemberL{Value: l}
	}
	of := map[string]string{"SS": "S", "NS": "N", "BS": "B"}[kind]
	var set, seen = []types.AttributeValue{}, []string{}
	for range 1 + r.IntN(3) {
		if v := r.value(of, depth); !slices.Contains(seen, Text(v)) {
			set, seen = append(set, v), append(seen, Text(v))
		}
	}
	return setOf(kind, set)
}

// kind returns a random type for a value at a depth.
func (r *Random) kind(depth int) string {
	if depth > 2 {
		return pick(r, "S", "N")
	}
	return attributes[r.IntN(len(attributes))].kind
}

// Key returns the key of one of a few items.
func (r *Random) Key() Item { return r.keyOf(r.IntN(4), r.IntN(6)) }

// keyOf returns the key determined by two numbers.
func (r *Random) keyOf(numbers ...int) Item {
	key := Item{}
	for i, k := range r.Table.keys() {
		n := numbers[i]
		switch k.Type {
		case "S":
			key[k.Name] = &types.AttributeValueMemberS{Value: fmt.Sprint("k", n)}
		case "N":
			key[k.Name] = &types.AttributeValueMemberN{Value: pick(r, fmt.Sprint(n), fmt.Sprintf("%d.0", n))}
		case "B":
			key[k.Name] = &types.AttributeValueMemberB{Value: []byte{0, byte(n)}}
		}
	}
	return key
}

// item returns a complete item.
func (r *Random) item() Item {
	it := r.Key()
	for range r.IntN(6) {
		name, kind := r.attribute()
		it[name] = r.value(kind, 1)
	}
	if r.one(10) {
		it["s"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", r.IntN(3000))}
	}
	if r.one(400) { // at the size limit of an item, and one byte above
		delete(it, "s")
		it["s"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", maxItem-Size(it)-1+r.IntN(2))}
	}
	if v, ok := it["g"].(*types.AttributeValueMemberS); ok && v.Value == "" && !r.one(20) {
		delete(it, "g")
	}
	return it
}

// path returns a path into an item, usually to an existing value.
func (r *Random) path() Path {
	name, _ := r.attribute()
	p := Path{name}
	if name == "m" && !r.one(3) {
		p = append(p, pick(r, "x", "y", "l"))
	}
	if (name == "l" || p[len(p)-1] == "l" && len(p) > 1) && !r.one(3) {
		p = append(p, r.IntN(4))
	}
	if r.one(15) {
		p = append(p, pick[any](r, "x", 0))
	}
	if r.one(150) {
		p = Path{pick(r, r.Table.Hash.Name, "g", "h"), "x"}
	}
	if r.one(100) {
		p = Path{pick(r, reserved...)}
	}
	return p
}

// operand returns a path or a plausible value.
func (r *Random) operand(kinds ...string) Operand {
	if r.one(3) {
		return Operand{Path: r.path()}
	}
	return Operand{Value: r.value(pick(r, kinds...), 1)}
}

var allKinds = []string{"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}

// condition returns a random condition.
func (r *Random) condition(depth int) *Condition {
	if depth < 2 && r.one(3) {
		switch op := pick(r, "AND", "OR", "NOT"); op {
		case "NOT":
			return &Condition{Op: op, Parts: []*Condition{r.condition(depth + 1)}}
		default:
			return &Condition{Op: op, Parts: []*Condition{r.condition(depth + 1), r.condition(depth + 1)}}
		}
	}
	path := Operand{Path: r.path()}
	name, kind := r.attribute()
	if r.one(2) {
		path.Path = Path{name}
	}
	switch op := pick(r, "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN"); op {
	case "attribute_exists", "attribute_not_exists":
		return &Condition{Op: op, Of: []Operand{path}}
	case "attribute_type":
		return &Condition{Op: op, Of: []Operand{path, {Value: &types.AttributeValueMemberS{Value: pick(r, append(allKinds, "Q")...)}}}}
	case "begins_with":
		return &Condition{Op: op, Of: []Operand{path, {Value: r.value(pick(r, "S", "S", "B", "B", "N"), 1)}}}
	case "contains":
		return &Condition{Op: op, Of: []Operand{path, r.distinct(path, "S", "N", "B", "BOOL", "L")}}
	case "=", "<>":
		return r.turned(&Condition{Op: op, Of: []Operand{path, r.distinct(path, kind)}})
	case "IN":
		return r.turned(&Condition{Op: op, Of: []Operand{path, {Value: r.value(kind, 1)}, r.operand(allKinds...)}})
	case "BETWEEN":
		k := pick(r, scalars...)
		between := &Condition{Op: op, Of: []Operand{path, {Value: r.value(k, 1)}, {Value: r.value(k, 1)}}}
		if r.one(6) {
			between.Of[1+r.IntN(2)] = r.distinct(path, allKinds...)
		}
		return r.turned(between)
	default:
		path.Size = r.one(4)
		return r.turned(&Condition{Op: op, Of: []Operand{path, r.distinct(path, append(scalars, pick(r, "S", "N", "SS", "BOOL"))...)}})
	}
}

// turned swaps the operands of some conditions, so that the value is on the left.
func (r *Random) turned(c *Condition) *Condition {
	if r.one(6) {
		c.Of[0], c.Of[1] = c.Of[1], c.Of[0]
	}
	return c
}

// distinct returns an operand with a different path, because DynamoDB rejects comparisons of a path
// with itself.
func (r *Random) distinct(from Operand, kinds ...string) Operand {
	for {
		if o := r.operand(kinds...); o.Path == nil || fmt.Sprint(o.Path) != fmt.Sprint(from.Path) {
			return o
		}
	}
}

// term returns a right-hand side.
func (r *Random) term(kind string) *Term {
	switch {
	case kind == "N" && r.one(2):
		return &Term{Op: pick(r, "+", "-"), Args: []*Term{r.argument("N"), r.argument("N")}}
	case kind == "L" && r.one(2):
		return &Term{Op: "list_append", Args: []*Term{r.argument("L"), r.argument("L")}}
	}
	return r.argument(kind)
}

// argument returns a path, a value, or a possibly nested if_not_exists.
func (r *Random) argument(kind string) *Term {
	switch {
	case r.one(4):
		return &Term{Op: "if_not_exists", Path: r.path(), Args: []*Term{r.argument(kind)}}
	case kind == "N" && r.one(4):
		return &Term{Path: pick(r, Path{"nu"}, Path{"h"}, Path{"m", "x"})}
	case r.one(4):
		return &Term{Path: r.path()}
	}
	return &Term{Value: r.value(kind, 1)}
}
