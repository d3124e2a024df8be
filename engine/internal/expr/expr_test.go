package expr

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/engine/internal/item"
)

// TestExpressions runs testdata. The command item sets the item for the commands that follow. Its
// input is "none", for no item, or plain JSON in which {"$SS": […]}, {"$NS": […]}, {"$BS": […]} and
// {"$B": "…"} are sets and binaries. The other commands (condition, filter, keycondition,
// projection, update) have the expression on the first line, followed by any of
//
//	names: {…}     ExpressionAttributeNames
//	values: {…}    ExpressionAttributeValues, in the form of the item
//	key: pk [sk]   the key for a key condition
//
// The output is DynamoDB's answer: a truth value, an item, or a message.
func TestExpressions(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		p := NewParser(8)
		var it item.Item
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			src, rest, _ := strings.Cut(d.Input, "\n")
			if d.Cmd == "item" {
				if it = nil; src != "none" {
					it = parseItem(t, src)
				}
				return ""
			}
			r := request{src: src, it: it}
			for line := range strings.Lines(rest) {
				r.set(t, line)
			}
			out, err := r.run(p, d.Cmd)
			if err != nil {
				return err.Error()
			}
			return out
		})
	})
}

type request struct {
	src    string
	it     item.Item
	names  map[string]string
	values item.Item
	key    []string
}

func (r *request) set(t *testing.T, line string) {
	name, text, ok := strings.Cut(strings.TrimSpace(line), ": ")
	switch {
	case !ok:
		t.Fatalf("what is %q?", line)
	case name == "values":
		r.values = parseItem(t, text)
	case name == "names":
		if err := json.Unmarshal([]byte(text), &r.names); err != nil {
			t.Fatal(err)
		}
	case name == "key":
		r.key = append(strings.Fields(text), "")
	default:
		t.Fatalf("what is %q?", name)
	}
}

func (r *request) run(p *Parser, cmd string) (string, error) {
	b, err := NewBindings(r.names, r.values)
	if err != nil {
		return "", err
	}
	var out string
	switch cmd {
	case "condition", "filter":
		out, err = r.condition(p, map[string]Kind{"condition": ConditionExpression, "filter": FilterExpression}[cmd], b)
	case "projection":
		out, err = r.projection(p, b)
	case "update":
		out, err = r.update(p, b)
	case "keycondition":
		out, err = r.keyCondition(p, b)
	default:
		return "", fmt.Errorf("no command %q", cmd)
	}
	if err == nil {
		err = b.CheckUnused()
	}
	return out, err
}

func (r *request) condition(p *Parser, kind Kind, b *Bindings) (string, error) {
	c, err := p.Condition(kind, r.src, b)
	if err != nil {
		return "", err
	}
	ok, err := c.Eval(r.it)
	return strconv.FormatBool(ok), err
}

func (r *request) projection(p *Parser, b *Bindings) (string, error) {
	proj, err := p.Projection(r.src, b)
	if err != nil {
		return "", err
	}
	out := proj.Apply(r.it)
	if out == nil {
		return "no item", nil
	}
	return printItem(out), nil
}

func (r *request) update(p *Parser, b *Bindings) (string, error) {
	u, err := p.Update(r.src, b)
	if err != nil {
		return "", err
	}
	before := item.CloneItem(r.it)
	out, err := u.Apply(r.it)
	if err != nil {
		return "", err
	}
	if !item.EqualItems(before, r.it) {
		return "", fmt.Errorf("the old item was changed to %s", printItem(r.it))
	}
	if _, err := item.Normalize(out); err != nil {
		return "", fmt.Errorf("the new item cannot be stored: %w", err)
	}
	return printItem(out) + "\nold: " + printItem(u.Project(r.it)) + "\nnew: " + printItem(u.Project(out)), nil
}

func (r *request) keyCondition(p *Parser, b *Bindings) (string, error) {
	k, err := p.KeyCondition(r.src, b)
	if err != nil {
		return "", err
	}
	var sort []string
	if r.key[1] != "" {
		sort = r.key[1:2]
	}
	hash, conds, err := k.Resolve(r.key[:1], sort)
	if err != nil {
		return "", err
	}
	if len(conds) == 0 {
		return printValue(hash[0]), nil
	}
	cond := conds[0]
	out := printValue(hash[0]) + " " + []string{"", "=", "<", "<=", ">", ">=", "between", "begins_with"}[cond.Op] + " " + printValue(cond.Lo)
	if cond.Hi != nil {
		out += " " + printValue(cond.Hi)
	}
	return out, nil
}

func parseItem(t testing.TB, text string) item.Item {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return fromMap(m)
}

func fromMap(m map[string]any) item.Item {
	it := make(item.Item, len(m))
	for name, v := range m {
		it[name] = fromJSON(v)
	}
	return it
}

func fromJSON(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case json.Number:
		return &types.AttributeValueMemberN{Value: v.String()}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case []any:
		l := &types.AttributeValueMemberL{Value: []types.AttributeValue{}}
		for _, e := range v {
			l.Value = append(l.Value, fromJSON(e))
		}
		return l
	case map[string]any:
		return fromObject(v)
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

func fromObject(m map[string]any) types.AttributeValue {
	if s, ok := m["$B"].(string); ok {
		return &types.AttributeValueMemberB{Value: []byte(s)}
	}
	if s, ok := m["$SS"].([]any); ok {
		ss := &types.AttributeValueMemberSS{}
		for _, e := range s {
			ss.Value = append(ss.Value, e.(string))
		}
		return ss
	}
	if s, ok := m["$NS"].([]any); ok {
		ns := &types.AttributeValueMemberNS{}
		for _, e := range s {
			ns.Value = append(ns.Value, e.(json.Number).String())
		}
		return ns
	}
	if s, ok := m["$BS"].([]any); ok {
		bs := &types.AttributeValueMemberBS{}
		for _, e := range s {
			bs.Value = append(bs.Value, []byte(e.(string)))
		}
		return bs
	}
	return &types.AttributeValueMemberM{Value: fromMap(m)}
}

func printItem(it item.Item) string {
	parts := make([]string, 0, len(it))
	for _, name := range slices.Sorted(maps.Keys(it)) {
		parts = append(parts, fmt.Sprintf("%q: %s", name, printValue(it[name])))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func printValue(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf(`{"$B": %q}`, v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberM:
		return printItem(v.Value)
	case *types.AttributeValueMemberL:
		parts := make([]string, len(v.Value))
		for i, e := range v.Value {
			parts[i] = printValue(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *types.AttributeValueMemberSS:
		return fmt.Sprintf(`{"$SS": %q}`, v.Value)
	case *types.AttributeValueMemberNS:
		return fmt.Sprintf(`{"$NS": %s}`, v.Value)
	case *types.AttributeValueMemberBS:
		return fmt.Sprintf(`{"$BS": %q}`, v.Value)
	}
	return "nothing"
}
