package expr

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// binding is a tree with the names and values of one request.
type binding struct {
	kind   Kind
	tree   *tree
	paths  []path // by number, with placeholders resolved
	values []types.AttributeValue
}

func newBinding(kind Kind, t *tree) binding {
	b := binding{kind: kind, tree: t, paths: t.paths}
	if t.refs {
		b.paths = slices.Clone(t.paths)
	}
	if len(t.values) > 0 {
		b.values = make([]types.AttributeValue, len(t.values))
	}
	return b
}

// resolvePath replaces the placeholders in a path.
func (b *binding) resolvePath(number int, with *Bindings) error {
	if !b.tree.refs {
		return nil
	}
	p := b.paths[number]
	copied := false
	for i, s := range p {
		if s.isIndex() || s.name[0] != '#' {
			continue
		}
		name, ok := with.name(s.name)
		if !ok {
			return refuse(b.kind, "An expression attribute name used in the document path is not defined; attribute name: %s", s.name)
		}
		if !copied {
			p, copied = slices.Clone(p), true
		}
		p[i] = nameStep(name)
	}
	b.paths[number] = p
	return nil
}

func (b *binding) resolveValue(number int, with *Bindings) error {
	av, ok := with.value(b.tree.values[number])
	if !ok {
		return refuse(b.kind, "An expression attribute value used in expression is not defined; attribute value: %s",
			b.tree.values[number])
	}
	b.values[number] = av
	return nil
}

// resolve resolves all paths and values under a node, in the order of the text.
func (b *binding) resolve(n *node, with *Bindings) error {
	switch n.op {
	case opPath:
		return b.resolvePath(n.number, with)
	case opValue:
		return b.resolveValue(n.number, with)
	}
	for _, a := range n.args {
		if err := b.resolve(a, with); err != nil {
			return err
		}
	}
	return nil
}

// typeOf returns the type of an operand if it is known without an item, otherwise "".
func (b *binding) typeOf(n *node) string {
	switch {
	case n.op == opValue:
		return item.TypeName(b.values[n.number])
	case n.op == opSize:
		return "N"
	}
	return ""
}

// checkOperands rejects a wrong number of operands under a node, innermost first.
func (b *binding) checkOperands(n *node) error {
	for _, a := range n.args {
		if err := b.checkOperands(a); err != nil {
			return err
		}
	}
	if n.isFunction() && n.operands() != len(n.args) {
		return refuse(b.kind, "Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d",
			n.name, len(n.args))
	}
	return nil
}

func (b *binding) wrongOperand(function, typ string) error {
	return refuse(b.kind, "Incorrect operand type for operator or function; operator or function: %s, operand type: %s", function, typ)
}

func (b *binding) needsPath(n *node) error {
	if n.args[0].op == opPath {
		return nil
	}
	return refuse(b.kind, "Operator or function requires a document path; operator or function: %s", n.name)
}
