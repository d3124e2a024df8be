package terminal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// List is the output of a command that lists something: for people, a line for each element in
// columns; for programs, JSON.
type List[T any] struct {
	JSON    bool
	Empty   string         // printed instead of the columns if there are no elements; "": only the columns' names
	Columns string         // names of the columns, separated by tabs
	Row     func(*T) []any // cells of an element, as many as there are columns
}

// Print writes the list. Cells never contain control characters, so no stored text can move the
// cursor or shift columns. Shorten long texts with Printable.
func (l List[T]) Print(w io.Writer, all []T) error {
	switch {
	case l.JSON:
		return JSON(w, append([]T{}, all...)) // [] and not null if there are none
	case len(all) == 0 && l.Empty != "":
		_, err := fmt.Fprintln(w, l.Empty)
		return err
	}
	columns := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(columns, l.Columns)
	for i := range all {
		cells := l.Row(&all[i])
		texts := make([]string, len(cells))
		for n, cell := range cells {
			texts[n] = withoutControls(fmt.Sprint(cell))
		}
		fmt.Fprintln(columns, strings.Join(texts, "\t"))
	}
	return columns.Flush()
}
