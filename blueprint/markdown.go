package blueprint

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/onefold/onefold/table"
)

// Markdown writes the design as Markdown. The same schema results in the same bytes.
func (d *Design) Markdown(w io.Writer) error {
	m := &markdown{d: d}
	m.line("# The design of `%s`", d.Name)
	m.line("")
	m.line("Generated from the running schema by `onefold design`. Do not edit: change the schema instead.")
	if !d.Executed {
		m.line("The patterns were not executed for this document.")
	}
	m.summary()
	m.entities()
	m.relations()
	m.patterns()
	for _, index := range append([]string{""}, d.Indexes...) {
		m.partitions(index)
		m.overload(index)
	}
	m.lifecycle()
	m.flows()
	m.gaps()
	m.limits()
	m.decisions()
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

// table writes a table of cells with a header row.
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
	head = append(head, "expires", "example bytes", "description")
	var rows [][]string
	for i := range m.d.Entities {
		e := &m.d.Entities[i]
		row := []string{code(e.Name), code(e.PK), code(e.SK)}
		for _, name := range m.d.Indexes {
			row = append(row, indexKeys(e, name))
		}
		rows = append(rows, append(row, yes(e.Expires), strconv.Itoa(e.ExampleBytes()), e.Doc))
	}
	m.table(head, rows)
}

func indexKeys(e *Entity, index string) string {
	x := e.Index(index)
	if x == nil {
		return ""
	}
	keys := code(x.PK) + " / " + code(x.SK)
	if e.Sparse(x) {
		keys += " (sparse)"
	}
	return keys
}

func yes(v bool) string {
	if v {
		return "yes"
	}
	return ""
}

func (m *markdown) patterns() {
	m.heading("Access patterns")
	m.line("Units are per call at the declared load. The hottest key is the worst case: all calls use one key, whose partition supports")
	m.line("%d read and %d write units per second.\n", PartitionReads, PartitionWrites)
	if m.d.Prices != nil {
		m.line("Monthly costs are for the requests of the declared load, on demand, in %s. Storage and the writes of folds are not included: see `onefold cost`.\n", m.d.Prices.Of)
	}
	head := []string{"#", "question", "caller", "operation", "entity", "on", "key condition", "read", "items", "units", "calls/s", "a month", "hottest key", "code"}
	var rows [][]string
	for i := range m.d.Patterns {
		p := &m.d.Patterns[i]
		where := "table"
		if p.Index != "" {
			where = code(p.Index)
		}
		rows = append(rows, []string{
			"[" + p.ID + "](#" + strings.ToLower(p.ID) + ")", p.Question, strings.Join(p.Callers, ", "), p.Operation, code(p.Entity), where,
			code(p.KeyCondition()), p.Consistency(), p.Units.Moved(), p.Units.String(), strconv.FormatFloat(p.Load.PerSecond, 'g', 3, 64), m.month(p), Percent(p.Heat.Share), code(p.Code()),
		})
	}
	m.table(head, rows)
}

// partitions writes the example rows as stored in the table or an index.
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
			var attributes []string
			for _, a := range r.Attributes() {
				attributes = append(attributes, a.Name+" "+code(a.Value))
			}
			rows = append(rows, []string{key, code(r.Text(sk)), r.Entity, strings.Join(attributes, ", ")})
		}
	}
	m.table([]string{pk, sk, "entity", "attributes"}, rows)
}

// month returns the monthly cost of a pattern, or "" if there are no prices.
func (m *markdown) month(p *Pattern) string {
	if m.d.Prices == nil {
		return ""
	}
	return Money(p.Monthly)
}

func (m *markdown) executions() {
	if !m.d.Executed {
		return
	}
	m.heading("The patterns, executed")
	m.line("Each pattern was run on the example rows: the request, the returned items and the consumed units.")
	for i := range m.d.Patterns {
		m.execution(&m.d.Patterns[i])
	}
}

func (m *markdown) execution(p *Pattern) {
	m.line("\n### %s\n\n%s\n", p.ID, p.Question)
	for i := range p.Execution.Calls {
		c := &p.Execution.Calls[i]
		m.line("```\n%s %s\n```\n", c.Operation, c.Text())
	}
	m.line("%s", p.Execution.Summary())
	for _, text := range p.Execution.ItemTexts() {
		m.line("\n```\n%s\n```", text)
	}
}
