package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Path is a document path: strings for attributes, ints for list elements.
type Path []any

// root returns the attribute that a path begins with.
func (p Path) root() string { return p[0].(string) }

// in returns the value of an item at the path, or nil.
func (p Path) in(it Item) types.AttributeValue {
	var v types.AttributeValue = &types.AttributeValueMemberM{Value: it}
	for _, step := range p {
		switch step := step.(type) {
		case string:
			m, ok := v.(*types.AttributeValueMemberM)
			if !ok {
				return nil
			}
			v = m.Value[step]
		case int:
			l, ok := v.(*types.AttributeValueMemberL)
			if !ok || step >= len(l.Value) {
				return nil
			}
			v = l.Value[step]
		}
	}
	return v
}

// Writer assigns placeholders to names and values.
type Writer struct {
	Names  map[string]string
	Values Item

	bare     uint64 // one bit per name: write it literally if possible
	written  int    // number of names
	reserved bool   // a reserved name was written literally
}

// plainName matches names that can be written literally. DynamoDB reserves 573 words; these are the
// ones generated here.
var (
	plainName = regexp.MustCompile(`^[a-z][a-z0-9]{0,30}$`)
	reserved  = []string{"name", "status", "count", "size", "ttl"}
)

// name writes a name, usually as a placeholder.
func (w *Writer) name(name string) string {
	w.written++
	if w.bare>>(w.written%64)&1 == 1 && plainName.MatchString(name) {
		w.reserved = w.reserved || slices.Contains(reserved, name)
		return name
	}
	placeholder := fmt.Sprintf("#n%d", len(w.Names))
	if w.Names == nil {
		w.Names = map[string]string{}
	}
	w.Names[placeholder] = name
	return placeholder
}

// path writes a path.
func (w *Writer) path(p Path) string {
	var b strings.Builder
	for i, step := range p {
		if n, ok := step.(int); ok {
			fmt.Fprintf(&b, "[%d]", n)
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(w.name(step.(string)))
	}
	return b.String()
}

// value writes a value.
func (w *Writer) value(v types.AttributeValue) string {
	placeholder := fmt.Sprintf(":v%d", len(w.Values))
	if w.Values == nil {
		w.Values = Item{}
	}
	w.Values[placeholder] = v
	return placeholder
}

// Operand is a path, the size of a path, or a value.
type Operand struct {
	Path  Path
	Size  bool
	Value types.AttributeValue
}

func (o Operand) write(w *Writer) string {
	switch {
	case o.Size:
		return "size(" + w.path(o.Path) + ")"
	case o.Path != nil:
		return w.path(o.Path)
	}
	return w.value(o.Value)
}

func (o Operand) of(it Item) types.AttributeValue {
	if o.Path == nil {
		return o.Value
	}
	v := o.Path.in(it)
	if !o.Size || v == nil {
		return v
	}
	n := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		n = len(utf16.Encode([]rune(v.Value)))
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberM:
		n = len(v.Value)
	case *types.AttributeValueMemberL:
		n = len(v.Value)
	default:
		if !isSet(v) {
			return nil
		}
		n = len(members(v))
	}
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

// Condition is a condition: an operator on conditions or operands.
type Condition struct {
	Op    string
	Parts []*Condition
	Of    []Operand
}

// Write writes the condition as an expression.
func (c *Condition) Write(w *Writer) string {
	var parts []string
	for _, p := range c.Parts {
		text := p.Write(w)
		if len(p.Parts) > 0 {
			text = "(" + text + ")"
		}
		parts = append(parts, text)
	}
	for _, o := range c.Of {
		parts = append(parts, o.write(w))
	}
	switch c.Op {
	case "AND", "OR":
		return strings.Join(parts, " "+c.Op+" ")
	case "NOT":
		return "NOT " + parts[0]
	case "BETWEEN":
		return parts[0] + " BETWEEN " + parts[1] + " AND " + parts[2]
	case "IN":
		return parts[0] + " IN (" + strings.Join(parts[1:], ", ") + ")"
	case "=", "<>", "<", "<=", ">", ">=":
		return parts[0] + " " + c.Op + " " + parts[1]
	}
	return c.Op + "(" + strings.Join(parts, ", ") + ")"
}

// valid reports whether the condition is valid regardless of the item: "Comparison operator and
// function reference".
func (c *Condition) valid() bool {
	for _, p := range c.Parts {
		if !p.valid() {
			return false
		}
	}
	for _, o := range c.Of {
		if o.Path == nil && !validValue(o.Value, 1) || !validNames(o.Path) {
			return false
		}
	}
	switch c.Op {
	case "<", "<=", ">", ">=":
		return !slices.ContainsFunc(c.Of, func(o Operand) bool { return !o.maybe("S", "N", "B") })
	case "BETWEEN":
		if lo, hi := c.Of[1], c.Of[2]; lo.Path == nil && hi.Path == nil {
			if n, ok := order(lo.Value, hi.Value); !ok || n > 0 {
				return false
			}
		}
		return !slices.ContainsFunc(c.Of, func(o Operand) bool { return !o.maybe("S", "N", "B") })
	case "begins_with":
		return c.Of[1].maybe("S", "B")
	case "attribute_type":
		s, ok := c.Of[1].Value.(*types.AttributeValueMemberS)
		return ok && slices.Contains(strings.Fields("S N B SS NS BS L M BOOL NULL"), s.Value)
	}
	return true
}

// maybe reports whether an operand can have one of the types. Paths always can.
func (o Operand) maybe(kinds ...string) bool {
	return o.Path != nil || slices.Contains(kinds, kind(o.Value))
}

func validNames(p Path) bool {
	for _, step := range p {
		if name, ok := step.(string); ok && (name == "" || len(name) > maxName) {
			return false
		}
	}
	return true
}

// paths returns the paths that the condition reads.
func (c *Condition) paths() (all []Path) {
	if c == nil {
		return nil
	}
	for _, p := range c.Parts {
		all = append(all, p.paths()...)
	}
	for _, o := range c.Of {
		if o.Path != nil {
			all = append(all, o.Path)
		}
	}
	return all
}

// Holds reports whether an item satisfies the condition. nil means no item.
func (c *Condition) Holds(it Item) bool {
	holds := func(p *Condition) bool { return p.Holds(it) }
	fails := func(p *Condition) bool { return !p.Holds(it) }
	switch c.Op {
	case "AND":
		return !slices.ContainsFunc(c.Parts, fails)
	case "OR":
		return slices.ContainsFunc(c.Parts, holds)
	case "NOT":
		return fails(c.Parts[0])
	}
	v := c.Of[0].of(it)
	switch c.Op {
	case "attribute_exists":
		return v != nil
	case "attribute_not_exists":
		return v == nil
	}
	if c.Op == "<>" {
		return v == nil || Text(v) != Text(c.Of[1].of(it))
	}
	return v != nil && c.compare(v, it)
}

// compare implements Holds for operators that are false without a value.
func (c *Condition) compare(v types.AttributeValue, it Item) bool {
	o := c.Of[1].of(it)
	switch c.Op {
	case "=":
		return Text(v) == Text(o)
	case "IN":
		return slices.ContainsFunc(c.Of[1:], func(o Operand) bool { return Text(v) == Text(o.of(it)) })
	case "BETWEEN":
		lo, ok := order(v, o)
		hi, also := order(v, c.Of[2].of(it))
		return ok && also && lo >= 0 && hi <= 0
	case "attribute_type":
		return kind(v) == o.(*types.AttributeValueMemberS).Value
	case "begins_with":
		return kind(v) == kind(o) && (kind(v) == "S" || kind(v) == "B") && strings.HasPrefix(raw(v), raw(o))
	case "contains":
		if kind(v) == "S" || kind(v) == "B" {
			return kind(v) == kind(o) && strings.Contains(raw(v), raw(o))
		}
		return o != nil && slices.ContainsFunc(elements(v), func(e types.AttributeValue) bool { return Text(e) == Text(o) })
	}
	n, ok := order(v, o)
	return ok && map[string]bool{"<": n < 0, "<=": n <= 0, ">": n > 0, ">=": n >= 0}[c.Op]
}

// raw returns the bytes of a string or binary.
func raw(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return string(v.(*types.AttributeValueMemberB).Value)
}
