package reporttext

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/cmd/internal/terminal"
)

// PrintVitals writes Web Vitals.
func PrintVitals(w io.Writer, v *report.Vitals) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s, %s to %s (%s)\n\n", v.Site, v.From, v.To, v.TimeZone)
	if v.Total.Loads == 0 {
		fmt.Fprintln(out, "No Web Vitals in this period. Add the attribute data-vitals to the tracker to record them.")
	} else {
		fmt.Fprintf(out, "Web Vitals at the 75th percentile, with the share of good page loads\n\n")
		table := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "page loads\tLCP\tgood\tINP\tgood\tCLS\tgood\t\x20 ")
		printVitalsRow(table, &v.Total, "all")
		for _, rows := range [][]report.VitalsRow{v.Devices, v.Pages} {
			for i := range rows {
				printVitalsRow(table, &rows[i], terminal.Printable(rows[i].Value))
			}
		}
		table.Flush() // cannot fail, the writer is a strings.Builder
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func printVitalsRow(w io.Writer, r *report.VitalsRow, name string) {
	fmt.Fprintf(w, "%s\t", terminal.Grouped(r.Loads))
	for _, m := range []struct {
		vital  *report.Vital
		format string
	}{{r.LCP, "%.0f ms"}, {r.INP, "%.0f ms"}, {r.CLS, "%.3f"}} {
		if m.vital == nil {
			fmt.Fprint(w, "–\t–\t")
			continue
		}
		fmt.Fprintf(w, m.format+"%s\t%.0f %%\t", m.vital.P75, ratingMark(m.vital.Rating), 100*m.vital.Good)
	}
	fmt.Fprintf(w, "\x20 %s\n", name)
}

// ratingMark returns a mark for ratings other than good.
func ratingMark(r report.Rating) string {
	switch r {
	case report.Poor:
		return " !!"
	case report.NeedsImprovement:
		return " ! "
	}
	return "   "
}
