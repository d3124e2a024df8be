package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// update returns the actions of an update.
func (r *Random) update() Update {
	clauses := [][]string{{"SET"}, {"REMOVE"}, {"ADD"}, {"DELETE"}, {"REMOVE", "DELETE"}, {"SET", "REMOVE", "ADD", "DELETE"}}
	clauses = append(clauses, clauses[0], clauses[1])
	from := pick(r, clauses...)
	var u Update
	for range 1 + r.IntN(3) {
		a := Action{Clause: pick(r, from...)}
		name, kind := r.attribute()
		switch a.Clause {
		case "SET":
			a.Path, a.Term = r.path(), r.term(kind)
		case "REMOVE":
			a.Path = r.path()
		case "ADD":
			kind = pick(r, "N", "SS", "NS", "BS")
			a.Path, a.Value = Path{map[string]string{"N": "nu", "SS": "ss", "NS": "ns", "BS": "bs"}[kind]}, r.value(kind, 1)
		case "DELETE":
			kind = pick(r, "SS", "NS", "BS")
			a.Path, a.Value = Path{strings.ToLower(kind)}, r.value(kind, 1)
		}
		if a.Clause != "SET" && r.one(10) {
			a.Path = Path{name}
		}
		if r.one(80) {
			a.Path = Path{pick(r, r.Table.keys()...).Name}
		}
		if r.one(40) || !slices.ContainsFunc(u, func(b Action) bool { return overlap(a.Path, b.Path) }) {
			u = append(u, a)
		}
	}
	return u
}

// legacyUpdate returns AttributeUpdates: whole attributes, each at most once.
func (r *Random) legacyUpdate() Update {
	u := Update{}
	for range r.IntN(4) {
		name, kind := r.attribute()
		if r.one(60) {
			name = pick(r, r.Table.keys()...).Name
		}
		if slices.Contains(u.roots(), name) {
			continue
		}
		a := Action{Clause: pick(r, "SET", "REMOVE", "REMOVE", "ADD", "DELETE"), Path: Path{name}}
		switch a.Clause {
		case "SET":
			a.Term = &Term{Value: r.value(kind, 1)}
		case "ADD":
			a.Value = r.value(pick(r, kind, "N", "L"), 1)
		case "DELETE":
			a.Value = r.value(pick(r, kind, "SS", "NS", "BS"), 1)
		}
		u = append(u, a)
	}
	return u
}

func (r *Random) expectation() Expectation {
	name, kind := r.attribute()
	e := Expectation{Attribute: name}
	if r.one(3) {
		yes := r.one(2)
		if e.Exists = &yes; r.one(4) {
			e.Exists = nil
		}
		if e.Exists == nil || yes != r.one(10) {
			e.Values = []types.AttributeValue{r.value(kind, 1)}
		}
		return e
	}
	operators := strings.Fields("EQ NE LT LE GT GE CONTAINS NOT_CONTAINS BEGINS_WITH IN BETWEEN NULL NOT_NULL")
	e.Operator = pick(r, operators...)
	c := comparisons[e.Operator]
	if c.kinds != nil && !r.one(10) {
		kind = pick(r, c.kinds...)
	}
	for range c.min {
		e.Values = append(e.Values, r.value(kind, 1))
	}
	if r.one(30) {
		e.Values = append(e.Values, r.value(kind, 1))
	}
	return e
}

// expect adds legacy conditions to a write.
func (r *Random) expect(w *Write) {
	for range r.IntN(3) {
		if e := r.expectation(); !slices.ContainsFunc(w.Expected, func(o Expectation) bool { return o.Attribute == e.Attribute }) {
			w.Expected = append(w.Expected, e)
		}
	}
	if len(w.Expected) > 1 && r.one(2) || r.one(25) {
		w.Joined = pick(r, "AND", "OR")
	}
}

// Write returns a write with one of the verbs.
func (r *Random) Write(verbs ...string) *Write {
	w := &Write{On: r.Table, Verb: pick(r, verbs...), Item: r.Key(), Tell: r.one(2)}
	if w.Verb == "Put" {
		w.Item = r.item()
	}
	if w.Verb == "Update" {
		w.Update = r.update()
	}
	if r.one(3) || w.Verb == "Check" {
		w.Condition = r.condition(0)
	}
	if r.one(2) {
		w.Bare = r.Uint64()
	}
	if r.one(12) {
		r.Spoil(w)
	}
	return w
}

// grow makes an update whose result has the maximum size of an item, or one byte more.
func (r *Random) grow(w *Write) {
	rest := cloneItem(r.Table.At(w.Item))
	if len(rest) == 0 {
		rest = cloneItem(w.Item)
	}
	delete(rest, "s")
	w.Update = Update{{Clause: "SET", Path: Path{"s"}, Term: &Term{Value: &types.AttributeValueMemberS{Value: strings.Repeat("x", max(0, maxItem-Size(rest)-1+r.IntN(2)))}}}}
}

// Single returns a write for a request of its own, which has more parameters.
func (r *Random) Single() *Write {
	w := r.Write("Put", "Update", "Update", "Update", "Delete")
	w.Returns = pick(r, "", "NONE", "ALL_OLD")
	w.Units, w.Metric = r.Units(), r.metric()
	if w.Verb == "Update" || r.one(50) {
		w.Returns = pick(r, "", "NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
	}
	if r.one(3) {
		w.Legacy, w.Condition = true, nil
		if w.Verb == "Update" {
			w.Update = r.legacyUpdate()
		}
		r.expect(w)
		if r.one(12) {
			r.spoilLegacy(w)
		}
		if r.one(50) && len(w.Update)+len(w.Expected) > 0 {
			w.Condition = r.condition(1)
		}
	}
	if w.Verb == "Update" && r.one(800) {
		r.grow(w)
	}
	if r.one(300) {
		w.Returns = "NOPE"
	}
	if w.Verb == "Update" && r.one(40) {
		w.Update, w.Legacy, w.Expected, w.Joined = nil, false, nil, ""
	}
	return w
}

// Units and metric return which cost figures a request asks for.
func (r *Random) Units() types.ReturnConsumedCapacity {
	return pick(r, "", types.ReturnConsumedCapacityNone, types.ReturnConsumedCapacityTotal, types.ReturnConsumedCapacityIndexes, types.ReturnConsumedCapacityIndexes, types.ReturnConsumedCapacityIndexes)
}

func (r *Random) metric() types.ReturnItemCollectionMetrics {
	return pick(r, "", types.ReturnItemCollectionMetricsNone, types.ReturnItemCollectionMetricsSize)
}

// strays are the faults of placeholders.
var strays = []string{"unused name", "unused value", "undefined name", "undefined value", "no names", "no values"}

// spoiled returns a value that is invalid or just within the limits.
func (r *Random) spoiled() types.AttributeValue {
	deep := types.AttributeValue(&types.AttributeValueMemberS{Value: "x"})
	for range maxNesting - 1 + r.IntN(2) {
		deep = &types.AttributeValueMemberL{Value: []types.AttributeValue{deep}}
	}
	long := strings.Repeat("n", maxName+r.IntN(2))
	return pick[types.AttributeValue](r, deep,
		&types.AttributeValueMemberN{Value: pick(r, "", "x", "1e126", "1e-131", "-1e126", strings.Repeat("9", maxDigits+1), "1 ", "0x1")},
		&types.AttributeValueMemberNULL{Value: false},
		&types.AttributeValueMemberSS{}, &types.AttributeValueMemberNS{}, &types.AttributeValueMemberBS{},
		&types.AttributeValueMemberSS{Value: []string{"a", "a"}}, &types.AttributeValueMemberNS{Value: []string{"1", "1.0"}},
		&types.AttributeValueMemberM{Value: Item{"": r.value("S", 1)}}, &types.AttributeValueMemberM{Value: Item{long: r.value("S", 1)}},
	)
}

// spoilKey makes a key invalid, or as long as allowed.
func (r *Random) spoilKey(it Item) {
	k := pick(r, r.Table.keys()...)
	bound := maxRange
	if k == r.Table.Hash {
		bound = maxHash
	}
	text := strings.Repeat("k", pick(r, 0, 1, bound, bound+1))
	switch r.IntN(4) {
	case 0:
		delete(it, k.Name)
	case 1:
		it[k.Name] = r.value(pick(r, allKinds...), 1)
	case 2:
		it[k.Name] = &types.AttributeValueMemberS{Value: text}
	case 3:
		it[k.Name] = &types.AttributeValueMemberB{Value: []byte(text)}
	}
}

// Spoil adds one fault, or an edge case that is valid, to a write.
func (r *Random) Spoil(w *Write) {
	name := pick(r, "", strings.Repeat("n", maxName), strings.Repeat("n", maxName+1))
	switch fault := r.IntN(8); {
	case fault >= 6:
		w.Stray = pick(r, strays...)
	case fault == 0:
		r.spoilKey(w.Item)
	case fault == 1 && w.Verb == "Put":
		w.Item[pick(r, "s", "g", "h")] = r.spoiled()
	case fault == 2 && w.Verb == "Put":
		w.Item[name] = r.value("S", 1)
	case fault == 1:
		w.Item["extra"] = r.value("S", 1)
	case fault == 3 && w.Verb == "Update":
		w.Update = Update{{Clause: "SET", Path: Path{pick(r, name, r.Table.Hash.Name, "s")}, Term: &Term{Value: r.value("S", 1)}}}
	case fault == 4 && w.Verb == "Update":
		w.Update = Update{{Clause: "SET", Path: Path{"s"}, Term: &Term{Value: r.spoiled()}}}
	case fault == 5 && w.Verb == "Update":
		w.Update = Update{{Clause: pick(r, "ADD", "DELETE"), Path: Path{"s"}, Value: r.value(pick(r, allKinds...), 1)}}
	default:
		w.Condition = &Condition{Op: "attribute_exists", Of: []Operand{{Path: Path{name}}}}
	}
}

// spoilLegacy is Spoil for the legacy parameters.
func (r *Random) spoilLegacy(w *Write) {
	name := pick(r, "", strings.Repeat("n", maxName), strings.Repeat("n", maxName+1))
	switch r.IntN(6) {
	case 0:
		w.Joined = pick(r, "AND", "NOPE")
	case 1:
		w.Expected = []Expectation{{Attribute: "s", Operator: pick(r, "NOPE", "EQ")}}
	case 2:
		w.Expected = []Expectation{{Attribute: name, Operator: "NULL"}}
	case 3:
		w.Expected = []Expectation{{Attribute: "s", Operator: "EQ", Values: []types.AttributeValue{r.spoiled()}}}
	default:
		if w.Verb == "Update" {
			w.Update = Update{pick(r, Action{Clause: "NOPE", Path: Path{"s"}, Value: r.value("S", 1)}, Action{Clause: "SET", Path: Path{"s"}},
				Action{Clause: "ADD", Path: Path{"s"}}, Action{Clause: "SET", Path: Path{name}, Term: &Term{Value: r.value("S", 1)}},
				Action{Clause: "SET", Path: Path{"s"}, Term: &Term{Value: r.spoiled()}}, Action{Clause: "REMOVE", Path: Path{name}})}
		}
	}
}

// Several returns the writes of a batch or transaction, usually on different items.
func (r *Random) Several(verbs ...string) []*Write {
	var writes []*Write
	seen := map[string]bool{}
	for range 1 + r.IntN(5) {
		w := r.Write(verbs...)
		if key := ItemText(r.Table.KeyOf(w.Item)); !seen[key] || r.one(40) {
			writes, seen[key] = append(writes, w), true
		}
	}
	return writes
}

// Many returns plain writes on n different items of the given size; 0 means small.
func (r *Random) Many(verb string, n, size int) (writes []*Write) {
	for i := range n {
		w := &Write{On: r.Table, Verb: verb, Item: r.keyOf(100+i, i)}
		if verb == "Put" && size > 0 {
			w.Item["b"] = &types.AttributeValueMemberB{Value: make([]byte, size-Size(w.Item)-1)}
		}
		writes = append(writes, w)
	}
	return writes
}

// String formats the write for failure messages.
func (w *Write) String() string {
	s := w.say()
	show := func(p *string) string {
		if p == nil {
			return "-"
		}
		return *p
	}
	values := ItemText(s.Values)
	for attr, u := range s.updates {
		values += fmt.Sprintf(" %.20q:%s %s", attr, u.Action, Text(u.Value))
	}
	for attr, e := range s.expected {
		values += fmt.Sprintf(" expect %.20q:%s %d of %s %s", attr, e.ComparisonOperator, len(e.AttributeValueList), Text(e.Value), Text(&types.AttributeValueMemberL{Value: e.AttributeValueList}))
	}
	names := Item{}
	for placeholder, name := range s.Names {
		names[placeholder] = &types.AttributeValueMemberS{Value: name[:min(len(name), 20)]}
	}
	text := fmt.Sprintf("%s %s %s update=%s condition=%s names=%s values=%s returns=%s tell=%v legacy=%v joined=%q units=%s stray=%s", w.Verb, w.On.Name, ItemText(w.Item), show(s.update), show(s.condition), ItemText(names), values, w.Returns, w.Tell, w.Legacy, w.Joined, w.Units, w.Stray)
	return text[:min(len(text), 3000)]
}
