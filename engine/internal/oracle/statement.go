package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Statement returns a write that PartiQL can express: an INSERT without a condition, an UPDATE or a
// DELETE.
func (r *Random) Statement() *Write {
	for {
		w := r.Write("Put", "Update", "Update", "Delete")
		w.Units, w.Bare, w.Stray = r.Units(), 0, ""
		switch w.Verb {
		case "Put":
			w.Condition, w.Tell = nil, false
		case "Update":
			w.Returns = pick(r, "", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
		case "Delete":
			w.Returns = pick(r, "", "ALL_OLD")
		}
		if w.speakable() {
			return w
		}
	}
}

// speakable reports whether PartiQL can express the write: ADD and DELETE only for sets, and no
// condition on the key except its value. Names that are too long would exceed the length of a
// statement.
func (w *Write) speakable() bool {
	for _, p := range w.condition().paths() {
		if slices.ContainsFunc(w.On.keys(), func(k Key) bool { return k.Name == p.root() }) {
			return false
		}
	}
	for _, a := range w.Update {
		if (a.Clause == "ADD" || a.Clause == "DELETE") && !isSet(a.Value) {
			return false
		}
	}
	return len(w.Item) == len(w.On.KeyOf(w.Item)) || w.Verb == "Put"
}

// sentence builds a statement.
type sentence struct{ params []types.AttributeValue }

func (s *sentence) value(v types.AttributeValue) string {
	s.params = append(s.params, v)
	return "?"
}

func (s *sentence) path(p Path) string {
	var b strings.Builder
	for i, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(`"` + step + `"`)
		}
	}
	return b.String()
}

func (s *sentence) operand(o Operand) string {
	switch {
	case o.Size:
		return "size(" + s.path(o.Path) + ")"
	case o.Path != nil:
		return s.path(o.Path)
	}
	return s.value(o.Value)
}

func (s *sentence) condition(c *Condition) string {
	var parts []string
	for _, p := range c.Parts {
		parts = append(parts, "("+s.condition(p)+")")
	}
	for _, o := range c.Of {
		parts = append(parts, s.operand(o))
	}
	switch c.Op {
	case "AND", "OR":
		return strings.Join(parts, " "+c.Op+" ")
	case "NOT":
		return "NOT " + parts[0]
	case "BETWEEN":
		return parts[0] + " BETWEEN " + parts[1] + " AND " + parts[2]
	case "IN":
		return parts[0] + " IN [" + strings.Join(parts[1:], ", ") + "]"
	case "attribute_exists":
		return parts[0] + " IS NOT MISSING"
	case "attribute_not_exists":
		return parts[0] + " IS MISSING"
	case "attribute_type", "begins_with", "contains":
		return c.Op + "(" + strings.Join(parts, ", ") + ")"
	}
	return parts[0] + " " + c.Op + " " + parts[1]
}

func (s *sentence) term(t *Term) string {
	if t.Op == "" && t.Path == nil {
		return s.value(t.Value)
	}
	var args []string
	if t.Path != nil {
		args = []string{s.path(t.Path)}
	}
	for _, a := range t.Args {
		args = append(args, s.term(a))
	}
	switch t.Op {
	case "":
		return args[0]
	case "+", "-":
		return args[0] + " " + t.Op + " " + args[1]
	}
	return t.Op + "(" + strings.Join(args, ", ") + ")"
}

func (s *sentence) action(a Action) string {
	switch path := s.path(a.Path); a.Clause {
	case "SET":
		return " SET " + path + " = " + s.term(a.Term)
	case "REMOVE":
		return " REMOVE " + path
	case "ADD":
		return " SET " + path + " = set_add(" + path + ", " + s.value(a.Value) + ")"
	default:
		return " SET " + path + " = set_delete(" + path + ", " + s.value(a.Value) + ")"
	}
}

// ExecuteStatement returns the request for the write.
func (w *Write) ExecuteStatement() *dynamodb.ExecuteStatementInput {
	s := &sentence{}
	text := `INSERT INTO "` + w.On.Name + `" VALUE {`
	if w.Verb == "Put" {
		separator := ""
		for name, v := range w.Item {
			text += separator + "'" + name + "': " + s.value(v)
			separator = ", "
		}
		text += "}"
	} else {
		if text = `DELETE FROM "` + w.On.Name + `"`; w.Verb == "Update" {
			text = `UPDATE "` + w.On.Name + `"`
			for _, a := range w.Update {
				text += s.action(a)
			}
		}
		word := " WHERE "
		for _, k := range w.On.keys() {
			if v := w.Item[k.Name]; v != nil {
				text += word + `"` + k.Name + `" = ` + s.value(v)
				word = " AND "
			}
		}
		if w.Condition != nil {
			text += word + "(" + s.condition(w.Condition) + ")"
		}
		if w.Returns != "" {
			text += " RETURNING " + strings.NewReplacer("UPDATED", "MODIFIED", "_", " ").Replace(w.Returns) + " *"
		}
	}
	in := &dynamodb.ExecuteStatementInput{Statement: &text, Parameters: s.params, ReturnConsumedCapacity: w.Units}
	if w.Tell {
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return in
}

// Execute performs the write as a statement. An INSERT requires that the item does not exist, an
// UPDATE that it does, and a DELETE of a missing item has no effect: "PartiQL reference" in the
// Developer Guide.
func (t *Table) Execute(w *Write) Outcome {
	text := *w.ExecuteStatement().Statement
	if !w.valid() || !t.checkKeys(w) || len(text) > maxStatement || w.Verb == "Update" && len(w.Update) == 0 {
		return Outcome{Code: Invalid}
	}
	old := t.At(w.Item)
	switch {
	case w.Verb == "Put" && old != nil:
		return Outcome{Code: Duplicate}
	case w.Verb == "Update" && old == nil:
		return Outcome{Code: Failed, Told: []Item{nil}}
	case w.Verb == "Delete" && old == nil:
		return Outcome{Units: t.put(w, nil)}
	}
	return t.Do(w)
}
