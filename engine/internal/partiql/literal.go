package partiql

import (
	"errors"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// maxLevels is the maximum nesting of a literal below its attribute.
const maxLevels = 31

// values provides the values of a statement's literals and parameters.
type values struct {
	src    string
	params []types.AttributeValue // normalized
}

// of returns the value of a literal or parameter.
func (v *values) of(n *node) (types.AttributeValue, error) {
	if n.op == opParam {
		return v.params[n.param], nil
	}
	return v.literal(n, nil)
}

// trail is the position of a literal inside a value, innermost step first.
type trail struct {
	outer *trail
	step  string
}

func (t *trail) depth() int {
	n := 0
	for ; t != nil; t = t.outer {
		n++
	}
	return n
}

// String formats the position like DynamoDB: root.a[0].
func (t *trail) String() string {
	if t == nil {
		return "root"
	}
	return t.outer.String() + t.step
}

func (v *values) literal(n *node, at *trail) (types.AttributeValue, error) {
	if at.depth() > maxLevels {
		return nil, request.Invalid("%s under %s", tooDeep, at)
	}
	switch n.op {
	case opText:
		return &types.AttributeValueMemberS{Value: n.text}, nil
	case opTrue, opFalse:
		return &types.AttributeValueMemberBOOL{Value: n.op == opTrue}, nil
	case opNull:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case opNumber:
		text, err := number(n.text, at)
		return &types.AttributeValueMemberN{Value: text}, err
	case opList:
		l := make([]types.AttributeValue, len(n.args))
		for i, a := range n.args {
			var err error
			if l[i], err = v.literal(a, &trail{at, "[" + strconv.Itoa(i) + "]"}); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberL{Value: l}, nil
	case opTuple:
		m, err := v.tuple(n, func(key string) *trail { return &trail{at, "." + key} })
		return &types.AttributeValueMemberM{Value: m}, err
	case opBag:
		return bag(n, at)
	}
	return nil, request.Invalid("Unsupported data type: %s under key %s at %s", kindOf(n), at, place(v.src, n.at))
}

// tuple returns the members of a tuple. under returns the position of a member.
func (v *values) tuple(n *node, under func(key string) *trail) (item.Item, error) {
	m := make(item.Item, len(n.args))
	for i, a := range n.args {
		av, err := v.literal(a, under(n.keys[i]))
		if err != nil {
			return nil, err
		}
		m[n.keys[i]] = av
	}
	return m, nil
}

// item returns the item of an INSERT. Its attributes may be parameters, or the item as a whole may
// be one.
func (v *values) item(n *node) (item.Item, error) {
	if n.op == opParam {
		if m, ok := v.params[n.param].(*types.AttributeValueMemberM); ok {
			return m.Value, nil
		}
		return nil, malformed(unexpectedTerm)
	}
	it := make(item.Item, len(n.args))
	for i, a := range n.args {
		av, err := v.of(a)
		if err != nil {
			return nil, err
		}
		it[n.keys[i]] = av
	}
	return it, nil
}

// kindOf returns DynamoDB's name for an expression that is not a literal.
func kindOf(n *node) string {
	switch n.op {
	case opParam:
		return "Parameter"
	case opCall:
		return n.text
	case opPath:
		return "VariableReference"
	}
	return "UNKNOWN"
}

// number returns the canonical text of a number.
func number(text string, at *trail) (string, error) {
	n, err := item.ParseNumber(text)
	if err != nil {
		return "", request.Invalid("%s under %s", err.Error(), at)
	}
	return n.String(), nil
}

// bag returns a set of strings or numbers.
func bag(n *node, at *trail) (types.AttributeValue, error) {
	if len(n.args) == 0 {
		return nil, request.Invalid("Empty bags are not supported")
	}
	var members, texts []string
	kind := n.args[0].op
	for _, a := range n.args {
		if a.op != kind || a.op != opText && a.op != opNumber {
			return nil, request.Invalid("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags")
		}
		text := a.text
		if kind == opNumber {
			var err error
			if text, err = number(a.text, at); err != nil {
				return nil, err
			}
		}
		members, texts = append(members, text), append(texts, a.text)
	}
	var av types.AttributeValue = &types.AttributeValueMemberSS{Value: members}
	if kind == opNumber {
		av = &types.AttributeValueMemberNS{Value: members}
	}
	_, err := item.NormalizeValue(av)
	if errors.Is(err, item.ErrDuplicate) && kind == opNumber {
		return nil, request.Invalid("One or more parameter values were invalid: Input collection [%s] contains duplicates! under %s", strings.Join(texts, ", "), at)
	}
	if err != nil {
		return nil, request.Invalid("%s", err.Error())
	}
	return av, nil
}

// bindParams validates the parameters of a statement, which precedes all checks of the statement,
// and makes them canonical.
func bindParams(params []types.AttributeValue) ([]types.AttributeValue, error) {
	if params != nil && len(params) == 0 {
		var c request.Members
		c.Add("[]", "parameters", "Member must have length greater than or equal to 1")
		return nil, c.Err()
	}
	out := make([]types.AttributeValue, len(params))
	for i, av := range params {
		nv, err := item.NormalizeValue(av)
		if err != nil {
			return nil, request.Invalid("%s", err.Error())
		}
		out[i] = nv
	}
	return out, nil
}
