package querycli

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/warehouse/duck"
)

// maxLimit bounds the rows of a printed table, because all of them are needed to compute the column
// widths.
const maxLimit = 100_000

// writeCSV writes all rows below a header. NULL is written as an empty field, like an empty string.
func writeCSV(ctx context.Context, db *duck.DB, query string, out io.Writer) error {
	w := csv.NewWriter(out)
	var cells []string
	head := func(columns []duck.Column) error {
		for _, c := range columns {
			cells = append(cells, c.Name)
		}
		return w.Write(cells)
	}
	err := db.Query(ctx, query, 0, head, func(values []*string) error {
		for i, v := range values {
			cells[i] = ""
			if v != nil {
				cells[i] = *v
			}
		}
		return w.Write(cells)
	})
	w.Flush()
	return errors.Join(err, w.Error())
}

// writeJSON writes an array of objects, one per line.
func writeJSON(ctx context.Context, db *duck.DB, query string, out io.Writer) error {
	w := bufio.NewWriter(out)
	separator := "[\n"
	err := db.JSON(ctx, query, func(object string) error {
		_, err := w.WriteString(separator + object)
		separator = ",\n"
		return err
	})
	if err != nil {
		return errors.Join(err, w.Flush())
	}
	end := "\n]\n"
	if separator == "[\n" {
		end = "[]\n"
	}
	if _, err := w.WriteString(end); err != nil {
		return err
	}
	return w.Flush()
}

// table is a result for people.
type table struct {
	columns []duck.Column
	rows    [][]string
	widths  []int
}

// null represents NULL, distinct from any usual text.
const null = "∅"

// writeTable writes the first rows, aligned and truncated to width columns; 0 means no limit.
func writeTable(ctx context.Context, db *duck.DB, query string, limit, width int, out io.Writer) error {
	var t table
	more := false
	err := db.Query(ctx, query, limit+1, func(columns []duck.Column) error {
		t.columns = columns
		t.widths = make([]int, len(columns))
		for i := range columns {
			columns[i].Name = terminal.Printable(columns[i].Name)
			t.widths[i] = runewidth.StringWidth(columns[i].Name)
		}
		return nil
	}, func(values []*string) error {
		if more = len(t.rows) == limit; !more {
			t.add(values)
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.fit(width)
	w := bufio.NewWriter(out)
	t.print(w)
	if more {
		fmt.Fprintf(w, "(first %s rows only; raise --limit to see more, or write all with --format csv)\n", terminal.Grouped(int64(limit)))
	}
	return w.Flush()
}

func (t *table) add(values []*string) {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = null
		if v != nil {
			row[i] = terminal.Printable(*v)
		}
		t.widths[i] = max(t.widths[i], runewidth.StringWidth(row[i]))
	}
	t.rows = append(t.rows, row)
}

const (
	gap        = 2
	leastWidth = 8 // minimum width of a truncated column
)

// fit narrows the widest columns until the table fits into width, or no column can be narrowed.
func (t *table) fit(width int) {
	total := gap * (len(t.widths) - 1)
	for _, w := range t.widths {
		total += w
	}
	for width > 0 && total > width {
		widest := 0
		for i, w := range t.widths {
			if w > t.widths[widest] {
				widest = i
			}
		}
		if t.widths[widest] <= leastWidth {
			return
		}
		t.widths[widest]--
		total--
	}
}

func (t *table) print(w io.Writer) {
	names, lines := make([]string, len(t.columns)), make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i], lines[i] = c.Name, strings.Repeat("─", t.widths[i])
	}
	t.printRow(w, names)
	t.printRow(w, lines)
	for _, row := range t.rows {
		t.printRow(w, row)
	}
}

func (t *table) printRow(w io.Writer, row []string) {
	cells := make([]string, len(row))
	for i, text := range row {
		text = runewidth.Truncate(text, t.widths[i], "…")
		if isNumber(t.columns[i].Type) {
			cells[i] = runewidth.FillLeft(text, t.widths[i])
		} else {
			cells[i] = runewidth.FillRight(text, t.widths[i])
		}
	}
	fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, strings.Repeat(" ", gap)), " "))
}

func isNumber(kind string) bool {
	switch kind, _, _ = strings.Cut(kind, "("); kind {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL":
		return true
	}
	return false
}

// printSchema lists the views.
func printSchema(e *Env) error {
	views := duck.Views()
	if e.JSON {
		return terminal.JSON(e.Out, views)
	}
	w := bufio.NewWriter(e.Out)
	for i, v := range views {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", v.Name, v.Meaning)
		for _, c := range v.Columns {
			fmt.Fprintf(w, "  %-15s %-26s %s\n", c.Name, c.Type, c.Meaning)
		}
	}
	return w.Flush()
}
