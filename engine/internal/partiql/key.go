package partiql

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// keyed is the condition of a write: the item's key, and other conditions.
type keyed struct {
	key     item.Item
	rest    []*node // conditions not on the key
	twice   string  // a key attribute that would have to equal two values
	missing bool    // a key attribute without a value
}

// keyOf separates a condition into the key and the rest.
func (v *values) keyOf(where *node, t *catalog.Table) (keyed, error) {
	k := keyed{key: item.Item{}}
	for _, c := range where.conjuncts() {
		attr, operand := equality(c)
		if attr == "" || attr != t.Hash.Name && attr != t.Range.Name {
			k.rest = append(k.rest, c)
			continue
		}
		av, err := v.of(operand)
		if err != nil {
			return k, err
		}
		switch old := k.key[attr]; {
		case old == nil:
			k.key[attr] = av
		case !item.Equal(old, av):
			k.twice = attr
			k.rest = append(k.rest, c)
		}
	}
	k.missing = k.key[t.Hash.Name] == nil || t.Range.Name != "" && k.key[t.Range.Name] == nil
	return k, nil
}

// equality returns the attribute and the operand of an equality, or "" for any other condition.
func equality(n *node) (string, *node) {
	if n.op != opEQ {
		return "", nil
	}
	a, b := n.args[0], n.args[1]
	if b.isAttr() {
		a, b = b, a
	}
	if a.isAttr() && b.isValue() {
		return a.path[0].name, b
	}
	return "", nil
}

// one rejects a key that does not identify one item.
func (k *keyed) one() error {
	switch {
	case k.twice != "":
		return request.Invalid("Multiple conditions on same key %s. Only single item Update/Insert/Delete are supported", k.twice)
	case k.missing:
		return request.Invalid(noKey)
	}
	return nil
}

// write is a statement that writes, or is checked by EXISTS, as parameters of a request.
type write struct {
	key       item.Item // or the whole item for an INSERT
	update    *string
	condition *string
	names     map[string]string
	values    map[string]types.AttributeValue
}

// write returns the request of a write. An INSERT requires that the item does not exist, an UPDATE
// that it does; a DELETE of a missing item succeeds.
func (v *values) write(s *statement, k keyed, hash string) (*write, error) {
	w := v.writer()
	out := &write{key: k.key}
	var fs []formula
	switch s.verb {
	case verbInsert:
		fs = append(fs, formula{"attribute_not_exists(" + w.name(hash) + ")", rankAtom})
	case verbUpdate:
		text, err := w.update(s)
		if err != nil {
			return nil, err
		}
		out.update = &text
		fs = append(fs, formula{"attribute_exists(" + w.name(hash) + ")", rankAtom})
	}
	rest, err := w.conditions(k.rest)
	if err != nil {
		return nil, err
	}
	if fs = append(fs, rest...); len(fs) > 0 {
		f := conjunction(fs...)
		if s.verb == verbDelete {
			f = disjunction(formula{"attribute_not_exists(" + w.name(hash) + ")", rankAtom}, f)
		}
		out.condition = &f.text
	}
	out.names, out.values = w.bindings()
	return out, nil
}
