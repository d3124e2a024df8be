package blueprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/onefold/onefold/table"
)

// Markdown writes the design as a document. The same schema has the same bytes.
func (d *Design) Markdown(w io.Writer) error {
	m := &markdown{d: d}
	m.line("# The design of `%s`", d.Name)
	m.line("")
	m.line("Made from the schema that runs, by `onefold design`. Do not edit it: change the schema.")
	if !d.Executed {
		m.line("The patterns were not executed while this was made.")
	}
	m.summary()
	m.entities()
	m.patterns()
	m.partitions("")
	for _, x := range d.Indexes {
		m.partitions(x)
	}
	m.executions()
	_, err := w.Write(m.b.Bytes())
	return err
}

type markdown struct {
	d *Design
	b bytes.Buffer
}

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n", args...) }

func (m *markdown) heading(text string) { m.line("\n## %s\n", text) }

// table writes rows of cells under a head.
func (m *markdown) table(head []string, rows [][]string) {
	row := func(cells []string) { m.line("| %s |", strings.Join(cells, " | ")) }
	row(head)
	row(strings.Split(strings.Repeat("---,", len(head)-1)+"---", ","))
	for _, cells := range rows {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ")
		}
		row(cells)
	}
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func (m *markdown) summary() {
	m.line("\nOne table, `pk` and `sk`; indexes: %s; time to live: `%s`; stream of old and new images. %d entities, %d access patterns.",
		codes(m.d.Indexes), table.AttrTTL, len(m.d.Entities), len(m.d.Patterns))
}

func codes(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

func (m *markdown) entities() {
	m.heading("Entities")
	head := []string{"entity", "pk", "sk"}
	head = append(head, m.d.Indexes...)
	head = append(head, "expires", "example bytes", "what it is")
	var rows [][]string
	for _, e := range m.d.Entities {
		row := []string{code(e.Name), code(e.PK), code(e.SK)}
		for _, name := range m.d.Indexes {
			row = append(row, indexKeys(&e, name))
		}
		rows = append(rows, append(row, yes(e.Expires), strconv.Itoa(e.exampleBytes()), e.Doc))
	}
	m.table(head, rows)
}

func indexKeys(e *Entity, index string) string {
	for _, x := range e.Indexes {
		if x.Name == index {
			keys := code(x.PK) + " / " + code(x.SK)
			if x.Conditional {
				keys += " (sparse)"
			}
			return keys
		}
	}
	return ""
}

func yes(v bool) string {
	if v {
		return "yes"
	}
	return ""
}

func (m *markdown) patterns() {
	m.heading("Access patterns")
	m.line("Units are those of one call at the declared load. The hottest key is the worst case: all calls ask one key, whose partition takes")
	m.line("%d read and %d write units a second.\n", PartitionReads, PartitionWrites)
	var rows [][]string
	for i := range m.d.Patterns {
		p := &m.d.Patterns[i]
		rows = append(rows, []string{
			"[" + p.ID + "](#" + strings.ToLower(p.ID) + ")", p.Question, p.Operation, code(p.Entity), where(p), code(keyCondition(p)), consistency(p),
			fmt.Sprintf("%d × %d B", p.Units.Items, p.Units.Bytes/max(p.Units.Items, 1)), units(&p.Units), rate(p.Load.PerSecond), percent(p.Heat.Share), code(p.Source),
		})
	}
	m.table([]string{"#", "question", "operation", "entity", "on", "key condition", "read", "items", "units", "calls/s", "hottest key", "code"}, rows)
}

func where(p *Pattern) string {
	if p.Index == "" {
		return "table"
	}
	return code(p.Index)
}

func keyCondition(p *Pattern) string {
	pk := table.AttrPK
	if p.Index != "" {
		pk = p.Index + "pk"
	}
	text := pk + " = " + p.PK
	if p.Operation != "Query" && p.Operation != "GetItem" {
		return p.Condition
	}
	if p.Condition != "" {
		text += " and " + p.Condition
	}
	return text
}

func consistency(p *Pattern) string {
	switch {
	case p.Units.Read == 0:
		return ""
	case p.Consistent:
		return "consistent"
	}
	return "eventual"
}

func units(u *Units) string {
	switch {
	case u.Read > 0 && u.Write > 0:
		return number(u.Read) + " read, " + number(u.Write) + " write"
	case u.Write > 0:
		return number(u.Write) + " write"
	}
	return number(u.Read) + " read"
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

func rate(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }

func percent(share float64) string {
	if share > 0 && share < 0.0001 {
		return "< 0.01 %"
	}
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}

// partitions shows the example rows as the table holds them, or an index.
func (m *markdown) partitions(index string) {
	pk, sk := table.AttrPK, table.AttrSK
	if index == "" {
		m.heading("The table, with example rows")
	} else {
		pk, sk = index+"pk", index+"sk"
		m.heading("Index " + index + ", with example rows")
	}
	var rows [][]string
	for _, p := range m.d.Partitions(index) {
		for i, r := range p.Rows {
			key := code(p.Key)
			if i > 0 {
				key = ""
			}
			rows = append(rows, []string{key, code(textOf(r.Item, sk)), r.Entity, attributesOf(r.Item)})
		}
	}
	m.table([]string{pk, sk, "entity", "attributes"}, rows)
}

// shown is how many characters of a value a document shows.
const shown = 40

// attributesOf are the attributes of an item that are no keys, shortened, sorted.
func attributesOf(it table.Item) string {
	var parts []string
	for _, name := range sortedNames(it) {
		text := valueText(it[name])
		if r := []rune(text); len(r) > shown {
			text = string(r[:shown]) + "…"
		}
		parts = append(parts, name+" "+code(strings.ReplaceAll(text, "`", "'")))
	}
	return strings.Join(parts, ", ")
}

func (m *markdown) executions() {
	if !m.d.Executed {
		return
	}
	m.heading("The patterns, executed")
	m.line("Each was run on the example rows while this was made: what was sent, what came back, and what it took.")
	for i := range m.d.Patterns {
		m.execution(&m.d.Patterns[i])
	}
}

func (m *markdown) execution(p *Pattern) {
	m.line("\n### %s\n\n%s\n", p.ID, p.Question)
	for _, c := range p.Execution.Calls {
		m.line("```json\n%s %s\n```\n", c.Operation, indented(c.Request))
	}
	m.line("%s, %s%s.", plural(len(p.Execution.Calls), "request"), units(&Units{Read: p.Execution.Read, Write: p.Execution.Write}), m.answer(p))
	for _, it := range p.Execution.Items {
		m.line("\n```json\n%s\n```", indented(itemJSON(it)))
	}
}

func (m *markdown) answer(p *Pattern) string {
	if p.Execution.Read == 0 {
		return ""
	}
	return "; " + plural(len(p.Execution.Items), "item")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func indented(b []byte) string {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return string(b)
	}
	return out.String()
}
