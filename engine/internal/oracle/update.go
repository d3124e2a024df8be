package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Term is the right-hand side of a SET: a value, a path, or an operator on terms.
type Term struct {
	Op    string // "", "if_not_exists", "list_append", "+" or "-"
	Path  Path   // for "" and if_not_exists
	Value types.AttributeValue
	Args  []*Term
}

// Action is one action of an update.
type Action struct {
	Clause string // SET, REMOVE, ADD or DELETE
	Path   Path
	Value  types.AttributeValue // for ADD and DELETE
	Term   *Term                // for SET
}

// Update is the list of actions of an update.
type Update []Action

// Write writes the update as an expression.
func (u Update) Write(w *Writer) string {
	var clauses []string
	for _, clause := range []string{"SET", "REMOVE", "ADD", "DELETE"} {
		var list []string
		for _, a := range u {
			if a.Clause != clause {
				continue
			}
			switch text := w.path(a.Path); clause {
			case "SET":
				list = append(list, text+" = "+a.Term.write(w))
			case "REMOVE":
				list = append(list, text)
			default:
				list = append(list, text+" "+w.value(a.Value))
			}
		}
		if list != nil {
			clauses = append(clauses, clause+" "+strings.Join(list, ", "))
		}
	}
	return strings.Join(clauses, " ")
}

func (t *Term) write(w *Writer) string {
	var args []string
	for _, a := range t.Args {
		args = append(args, a.write(w))
	}
	switch t.Op {
	case "if_not_exists":
		return "if_not_exists(" + w.path(t.Path) + ", " + args[0] + ")"
	case "list_append":
		return "list_append(" + strings.Join(args, ", ") + ")"
	case "+", "-":
		return args[0] + " " + t.Op + " " + args[1]
	}
	if t.Path != nil {
		return w.path(t.Path)
	}
	return w.value(t.Value)
}

// paths returns the paths that the term reads.
func (t *Term) paths() (all []Path) {
	if t == nil {
		return nil
	}
	if t.Path != nil {
		all = append(all, t.Path)
	}
	for _, a := range t.Args {
		all = append(all, a.paths()...)
	}
	return all
}

// valid reports whether the update is valid regardless of the item.
func (u Update) valid() bool {
	for i, a := range u {
		for _, b := range u[:i] {
			if overlap(a.Path, b.Path) {
				return false
			}
		}
		if !validNames(a.Path) || a.Term != nil && !a.Term.valid() {
			return false
		}
		if a.Clause != "ADD" && a.Clause != "DELETE" {
			continue
		}
		if !validValue(a.Value, 1) || !isSet(a.Value) && (a.Clause == "DELETE" || kind(a.Value) != "N") {
			return false
		}
	}
	return true
}

// overlap reports whether one path is a prefix of the other, or they disagree whether an element is
// a list or a map.
func overlap(a, b Path) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%T", a[i]) != fmt.Sprintf("%T", b[i])
		}
	}
	return true
}

func (t *Term) valid() bool {
	want := map[string]string{"+": "N", "-": "N", "list_append": "L"}[t.Op]
	for _, a := range t.Args {
		if !a.valid() || want != "" && a.Op == "" && a.Path == nil && kind(a.Value) != want {
			return false
		}
	}
	return validNames(t.Path) && (t.Op != "" || t.Path != nil || validValue(t.Value, 1))
}

// roots returns the attributes that the update changes.
func (u Update) roots() (names []string) {
	for _, a := range u {
		names = append(names, a.Path.root())
	}
	return names
}

// Errors of updates that do not fit the item. All are ValidationExceptions.
var (
	errPath    = errors.New("the path does not lead into the item")
	errMissing = errors.New("an attribute is read that the item does not have")
	errType    = errors.New("an operand has the wrong type")
	errNumber  = errors.New("a number that DynamoDB cannot hold")
	errNesting = errors.New("nested too deeply")
)

// of evaluates a right-hand side on the item before the update.
func (t *Term) of(old Item) (types.AttributeValue, error) {
	if t.Path != nil {
		if v := t.Path.in(old); v != nil {
			return v, nil
		}
		if t.Op == "" {
			return nil, errMissing
		}
		return t.Args[0].of(old)
	}
	if t.Op == "" {
		return t.Value, nil
	}
	a, err := t.Args[0].of(old)
	if err != nil {
		return nil, err
	}
	b, err := t.Args[1].of(old)
	if err != nil {
		return nil, err
	}
	if t.Op == "list_append" {
		if kind(a) != "L" || kind(b) != "L" {
			return nil, errType
		}
		return &types.AttributeValueMemberL{Value: slices.Concat(elements(a), elements(b))}, nil
	}
	return sum(a, b, t.Op == "-")
}

func sum(a, b types.AttributeValue, minus bool) (types.AttributeValue, error) {
	x, ok := a.(*types.AttributeValueMemberN)
	y, also := b.(*types.AttributeValueMemberN)
	if !ok || !also {
		return nil, errType
	}
	r := new(big.Rat)
	if minus {
		r.Sub(rational(x.Value), rational(y.Value))
	} else {
		r.Add(rational(x.Value), rational(y.Value))
	}
	text := decimal(r)
	if rational(text) == nil {
		return nil, errNumber
	}
	return &types.AttributeValueMemberN{Value: text}, nil
}

// addition and deletion return the values of an attribute after ADD and DELETE.
func addition(old, v types.AttributeValue) (types.AttributeValue, error) {
	switch {
	case old == nil:
		return v, nil
	case kind(old) != kind(v):
		return nil, errType
	case kind(v) == "N":
		return sum(old, v, false)
	case kind(v) == "L": // only in AttributeUpdates
		return &types.AttributeValueMemberL{Value: slices.Concat(elements(old), elements(v))}, nil
	}
	all, texts := elements(old), members(old)
	for _, m := range elements(v) {
		if !slices.Contains(texts, Text(m)) {
			all = append(all, m)
		}
	}
	return setOf(kind(v), all), nil
}

func deletion(old, v types.AttributeValue) (types.AttributeValue, error) {
	if old == nil {
		return nil, nil
	}
	if kind(old) != kind(v) {
		return nil, errType
	}
	off := members(v)
	rest := slices.DeleteFunc(elements(old), func(m types.AttributeValue) bool { return slices.Contains(off, Text(m)) })
	if len(rest) == 0 {
		return nil, nil
	}
	return setOf(kind(v), rest), nil
}

// creates reports whether the update creates a missing item. One that only removes does not.
func (u Update) creates() bool {
	return len(u) == 0 || slices.ContainsFunc(u, func(a Action) bool { return a.Clause == "SET" || a.Clause == "ADD" })
}

// apply returns the result of the update on old or, if there is no item, on its key.
func (u Update) apply(old, key Item) (Item, error) {
	base := old
	if old == nil {
		base = key
	}
	next := cloneItem(base)
	sorted := slices.SortedStableFunc(slices.Values(u), func(a, b Action) int { return comparePaths(a.Path, b.Path) })
	var gone []gap
	for _, a := range sorted {
		v, err := a.result(base)
		if err != nil {
			return nil, err
		}
		if v == nil && old == nil {
			continue // removing from a missing item has no effect at any path
		}
		left, err := place(next, base, a.Path, v)
		if err != nil {
			return nil, err
		}
		gone = append(gone, left...)
	}
	for _, g := range slices.Backward(gone) { // last element first, so that the others keep their indexes
		g.list.Value = slices.Delete(g.list.Value, g.at, g.at+1)
	}
	for _, a := range u {
		if v := a.Path.in(next); len(a.Path) > 1 && v != nil && !validValue(next[a.Path.root()], 1) {
			return nil, errNesting
		}
	}
	return next, nil
}

func comparePaths(a, b Path) int {
	return slices.CompareFunc(a, b, func(x, y any) int {
		m, ok := x.(int)
		n, also := y.(int)
		if ok && also {
			return cmp.Compare(m, n)
		}
		return strings.Compare(fmt.Sprint(x), fmt.Sprint(y))
	})
}

// result returns the value of an action at its path, or nil for none.
func (a Action) result(old Item) (types.AttributeValue, error) {
	switch a.Clause {
	case "SET":
		v, err := a.Term.of(old)
		return clone(v), err
	case "ADD":
		return addition(a.Path.in(old), a.Value)
	case "DELETE":
		return deletion(a.Path.in(old), a.Value)
	}
	return nil, nil
}

// gap is a list element to remove.
type gap struct {
	list *types.AttributeValueMemberL
	at   int
}

// place sets or, if v is nil, removes the value at a path of next. old is the original item.
func place(next, old Item, p Path, v types.AttributeValue) ([]gap, error) {
	last := p[len(p)-1]
	if len(p) > 1 && p[:len(p)-1].in(old) == nil {
		return nil, errPath // even if another action creates the parent
	}
	if name, ok := last.(string); ok {
		m := next
		if len(p) > 1 {
			parent, ok := p[:len(p)-1].in(next).(*types.AttributeValueMemberM)
			if !ok {
				return nil, errPath
			}
			m = parent.Value
		}
		if v == nil {
			delete(m, name)
		} else {
			m[name] = v
		}
		return nil, nil
	}
	l, ok := p[:len(p)-1].in(next).(*types.AttributeValueMemberL)
	if !ok {
		return nil, errPath
	}
	i, was := last.(int), len(elements(p[:len(p)-1].in(old)))
	switch {
	case v == nil && i < was:
		return []gap{{l, i}}, nil
	case v == nil:
	case i < was:
		l.Value[i] = v
	default:
		l.Value = append(l.Value, v)
	}
	return nil, nil
}
