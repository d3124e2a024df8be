package terminal

import (
	"strings"

	"github.com/guptarohit/asciigraph"
)

// PlotWidth is the number of columns of a plot.
const PlotWidth = 72

const plotHeight = 14

// Plot draws curves of at most PlotWidth numbers, with NaN for gaps, and lines below them, such as
// Ends of the range. A shorter curve is stretched: each number takes several columns.
func Plot(below []string, curves ...[]float64) string {
	wide := make([][]float64, len(curves))
	for i, c := range curves {
		wide[i] = stretched(c)
	}
	drawing := asciigraph.PlotMany(wide, asciigraph.Height(plotHeight), asciigraph.Precision(2))
	first, _, _ := strings.Cut(drawing, "\n")
	margin := "\n" + strings.Repeat(" ", max(strings.IndexAny(first, "┤┼"), 0)+1)
	return drawing + margin + strings.Join(below, margin)
}

// Ends returns a line as wide as a plot, with a text at each end.
func Ends(left, right string) string {
	return left + strings.Repeat(" ", max(PlotWidth-len(left)-len(right), 1)) + right
}

// stretched widens a short curve to the width of a plot.
func stretched(curve []float64) []float64 {
	if len(curve) >= PlotWidth {
		return curve
	}
	wide := make([]float64, PlotWidth)
	for i := range wide {
		wide[i] = curve[i*len(curve)/PlotWidth]
	}
	return wide
}
