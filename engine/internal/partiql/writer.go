package partiql

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/request"
)

// writer writes the expressions of one request, and collects the names and values used in them.
type writer struct {
	lits   *values
	names  map[string]string
	vals   map[string]types.AttributeValue
	known  map[string]string // placeholders by attribute name
	placed map[*node]string  // placeholders by literal or parameter
}

func (v *values) writer() *writer {
	return &writer{lits: v, names: map[string]string{}, vals: map[string]types.AttributeValue{}, known: map[string]string{}, placed: map[*node]string{}}
}

// bindings returns the ExpressionAttributeNames and ExpressionAttributeValues of the request.
func (w *writer) bindings() (map[string]string, map[string]types.AttributeValue) {
	return request.NonEmpty(w.names), request.NonEmpty(w.vals)
}

// name returns the placeholder of an attribute name.
func (w *writer) name(attr string) string {
	if ph, ok := w.known[attr]; ok {
		return ph
	}
	ph := "#" + strconv.Itoa(len(w.names))
	w.names[ph], w.known[attr] = attr, ph
	return ph
}

func (w *writer) value(av types.AttributeValue) string {
	ph := ":" + strconv.Itoa(len(w.vals))
	w.vals[ph] = av
	return ph
}

// literal returns the placeholder of a literal or parameter.
func (w *writer) literal(n *node) (string, error) {
	if ph, ok := w.placed[n]; ok {
		return ph, nil
	}
	av, err := w.lits.of(n)
	if err != nil {
		return "", err
	}
	ph := w.value(av)
	w.placed[n] = ph
	return ph, nil
}

func (w *writer) path(steps []step) (string, error) {
	var text strings.Builder
	for i, st := range steps {
		switch {
		case st.index >= 0:
			text.WriteString("[" + strconv.Itoa(st.index) + "]")
			continue
		case st.name == "":
			return "", request.Invalid("Path component cannot be an empty string")
		case i > 0:
			text.WriteByte('.')
		}
		text.WriteString(w.name(st.name))
	}
	return text.String(), nil
}

// operand writes an operand: a path, a value, or a size.
func (w *writer) operand(n *node) (string, error) {
	switch {
	case n.op == opPath:
		return w.path(n.path)
	case n.op == opCall && n.text == "size":
		return w.call(n)
	case n.op == opCall && !conditionFunctions[n.text]:
		return "", w.unknown(n)
	case n.isValue():
		return w.literal(n)
	}
	return "", request.Invalid("Unsupported operand at %s", place(w.lits.src, n.at))
}

func (w *writer) unknown(n *node) error {
	return request.Invalid("Unrecognized function: %s at %s", n.text, place(w.lits.src, n.at))
}

// operands is the number of operands of the functions that DynamoDB's expressions also have.
var operands = map[string]int{"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2, "size": 1,
	"list_append": 2, "if_not_exists": 2}

var conditionFunctions = map[string]bool{"attribute_exists": true, "attribute_not_exists": true, "attribute_type": true, "begins_with": true, "contains": true}

// call writes a function call.
func (w *writer) call(n *node) (string, error) { return w.callOf(n, w.operand) }

func (w *writer) callOf(n *node, operand func(*node) (string, error)) (string, error) {
	if operands[n.text] != len(n.args) {
		return "", request.Invalid("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", n.text, len(n.args))
	}
	args := make([]string, len(n.args))
	for i, a := range n.args {
		var err error
		if args[i], err = operand(a); err != nil {
			return "", err
		}
	}
	return n.text + "(" + strings.Join(args, ",") + ")", nil
}
