package expr

import (
	"slices"

	"github.com/onefold/onefold/engine/internal/item"
)

// Update is a bound update. It is immutable and safe for concurrent use.
type Update struct {
	binding
	targets []path // paths of the actions, in their order
	sorted  []path // targets, sorted for Project
}

// Update parses and binds an UpdateExpression. Errors are of type *Error.
func (p *Parser) Update(src string, with *Bindings) (*Update, error) {
	t, err := p.parse(updates, UpdateExpression, src)
	if err != nil {
		return nil, err
	}
	f := &t.flaws
	if flaw := first(f.depth, f.reserved, f.function, f.misused, f.section); flaw != "" {
		return nil, &Error{Kind: UpdateExpression, Reason: flaw}
	}
	u := &Update{binding: newBinding(UpdateExpression, t)}
	if err := u.bind(with); err != nil {
		return nil, err
	}
	u.targets = make([]path, len(t.actions))
	for i, a := range t.actions {
		u.targets[i] = u.paths[a.path]
	}
	if err := checkOverlap(UpdateExpression, u.targets); err != nil {
		return nil, err
	}
	u.sorted = sortPaths(u.targets)
	return u, u.check()
}

// bind resolves all names of the expression before all values, like DynamoDB.
func (u *Update) bind(with *Bindings) error {
	for i := range u.paths {
		if err := u.resolvePath(i, with); err != nil {
			return err
		}
	}
	for i := range u.values {
		if err := u.resolveValue(i, with); err != nil {
			return err
		}
	}
	return nil
}

// check rejects operands whose types are wrong for any item, first those of ADD and DELETE, then
// those of SET.
func (u *Update) check() error {
	for _, a := range u.tree.actions {
		if a.verb != verbAdd && a.verb != verbDelete {
			continue
		}
		t := u.typeOf(a.value)
		if t == "SS" || t == "NS" || t == "BS" || (t == "N" && a.verb == verbAdd) {
			continue
		}
		return refuse(u.kind, "Incorrect operand type for operator or function; operator: %s, operand type: %s", verbs[a.verb], longTypes[t])
	}
	for _, a := range u.tree.actions {
		if a.verb != verbSet {
			continue
		}
		if err := u.checkOperands(a.value); err != nil {
			return err
		}
		if err := u.checkSet(a.value); err != nil {
			return err
		}
	}
	return nil
}

// longTypes are the names of types in messages about ADD and DELETE.
var longTypes = map[string]string{"S": "STRING", "N": "NUMBER", "B": "BINARY", "BOOL": "BOOLEAN", "NULL": "NULL", "L": "LIST", "M": "MAP"}

func (u *Update) checkSet(n *node) error {
	for _, a := range n.args {
		if err := u.checkSet(a); err != nil {
			return err
		}
	}
	want, name := "", n.name
	switch n.op {
	case opIfNotExists:
		return u.needsPath(n)
	case opListAppend:
		want = "L"
	case opPlus, opMinus:
		want, name = "N", operators[n.op]
	default:
		return nil
	}
	for _, a := range n.args {
		if t := u.typeOf(a); t != "" && t != want {
			return u.wrongOperand(name, t)
		}
	}
	return nil
}

// Roots returns the distinct top-level attributes that the update changes, in order of appearance.
func (u *Update) Roots() []string { return roots(u.targets) }

// NestedRoots returns the top-level attributes of which the update reads or changes parts.
func (u *Update) NestedRoots() []string { return nestedRoots(u.paths) }

// Project returns the values of an item at the paths touched by the update, for UPDATED_OLD and
// UPDATED_NEW, or nil if there are none. The result shares values with the item.
func (u *Update) Project(it item.Item) item.Item {
	if out := project(it, u.sorted); len(out) > 0 {
		return out
	}
	return nil
}

// Apply returns the result of the update on old, which is not modified and is nil if there is no
// item. All right-hand sides are evaluated on old. The new item shares unchanged values with old
// and with the request. Errors are of type *Error and mean that the update does not fit the item.
func (u *Update) Apply(old item.Item) (item.Item, error) { return u.apply(old, old != nil) }

// Create returns the item that the update creates from the attributes of a key. It returns nil if
// the update only removes: DynamoDB then creates no item, and does not object to removing missing
// attributes.
func (u *Update) Create(key item.Item) (item.Item, error) {
	out, err := u.apply(key, false)
	if err == nil && u.removesOnly() {
		return nil, nil
	}
	return out, err
}

func (u *Update) removesOnly() bool {
	return !slices.ContainsFunc(u.tree.actions, func(a action) bool { return a.verb == verbSet || a.verb == verbAdd })
}

func (u *Update) apply(old item.Item, exists bool) (item.Item, error) {
	changes := make([]change, 0, len(u.tree.actions))
	for i, a := range u.tree.actions {
		ch := change{path: u.targets[i]}
		var err error
		switch a.verb {
		case verbSet:
			ch.value, err = u.evaluate(a.value, old)
		case verbAdd:
			ch.value, err = addTo(lookup(old, ch.path), u.values[a.value.number])
		case verbDelete:
			ch.value, err = deleteFrom(lookup(old, ch.path), u.values[a.value.number])
		}
		if err != nil {
			return nil, err
		}
		if ch.value == nil && !exists {
			continue
		}
		changes = append(changes, ch)
	}
	if len(changes) > 1 {
		slices.SortFunc(changes, func(a, b change) int { return comparePaths(a.path, b.path) })
	}
	return applyChanges(old, changes, 0)
}
