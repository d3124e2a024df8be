package partiql

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/request"
)

// setFunctions are the functions that become separate clauses in an update expression.
var setFunctions = map[string]string{"set_add": "ADD", "set_delete": "DELETE"}

// update writes the update expression of an UPDATE.
func (w *writer) update(s *statement) (string, error) {
	clauses := map[string][]string{}
	for _, a := range s.sets {
		target, err := w.path(a.target.path)
		if err != nil {
			return "", err
		}
		if clause, ok := setFunctions[a.value.text]; ok && a.value.op == opCall {
			members, err := w.members(a)
			if err != nil {
				return "", err
			}
			clauses[clause] = append(clauses[clause], target+" "+members)
			continue
		}
		value, err := w.assigned(a.value)
		if err != nil {
			return "", err
		}
		clauses["SET"] = append(clauses["SET"], target+"="+value)
	}
	for _, n := range s.removes {
		path, err := w.path(n.path)
		if err != nil {
			return "", err
		}
		clauses["REMOVE"] = append(clauses["REMOVE"], path)
	}
	var parts []string
	for _, word := range []string{"SET", "REMOVE", "ADD", "DELETE"} {
		if list := clauses[word]; len(list) > 0 {
			parts = append(parts, word+" "+strings.Join(list, ","))
		}
	}
	return strings.Join(parts, " "), nil
}

// members writes the set argument of set_add or set_delete. These functions must change the
// attribute they are assigned to.
func (w *writer) members(a assignment) (string, error) {
	n := a.value
	at := func(n *node, rule string) error {
		return request.Invalid(rule+" at %s", strings.ToUpper(a.value.text), place(w.lits.src, n.at))
	}
	switch {
	case len(n.args) != 2:
		return "", at(n, "%s must have exactly two arguments")
	case n.args[0].op != opPath || !slices.Equal(n.args[0].path, a.target.path):
		return "", at(n, "The first argument to %s must equal the assignment value")
	case !n.args[1].isValue():
		return "", at(n.args[0], "The second argument to %s must be a value with type SET")
	}
	av, err := w.lits.of(n.args[1])
	if err != nil {
		return "", err
	}
	switch av.(type) {
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		return w.literal(n.args[1])
	}
	return "", at(n.args[0], "The second argument to %s must be a value with type SET")
}

// assigned writes the right-hand side of an assignment.
func (w *writer) assigned(n *node) (string, error) {
	if n.op != opPlus && n.op != opMinus {
		return w.addend(n)
	}
	left, err := w.addend(n.args[0])
	if err != nil {
		return "", err
	}
	right, err := w.addend(n.args[1])
	if n.op == opPlus {
		return left + "+" + right, err
	}
	return left + "-" + right, err
}

func (w *writer) addend(n *node) (string, error) {
	if n.op == opCall && (n.text == "list_append" || n.text == "if_not_exists") {
		return w.callOf(n, w.addend)
	}
	if n.op == opCall {
		return "", w.unknown(n)
	}
	return w.operand(n)
}

// checkUpdate binds all changes of an UPDATE, to find errors regardless of the table.
func (v *values) checkUpdate(s *statement, parser *expr.Parser) error {
	w := v.writer()
	text, err := w.update(s)
	if err != nil {
		return err
	}
	b, err := expr.NewBindings(w.bindings())
	if err == nil {
		_, err = parser.Update(text, b)
	}
	return asRefusal(err)
}
