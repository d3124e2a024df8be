package terminal

import (
	"strings"

	"github.com/guptarohit/asciigraph"
)

// PlotWidth is how many columns a plot has.
const PlotWidth = 72

const plotHeight = 14

// Plot draws curves of at most PlotWidth numbers, NaN for none, and lines below them, such as Ends of their range. Curves of
// fewer numbers have each over several columns.
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

// Ends is a line as wide as a plot with a text at each side.
func Ends(left, right string) string {
	return left + strings.Repeat(" ", max(PlotWidth-len(left)-len(right), 1)) + right
}

// stretched widens a curve of few points to the width of a plot, each in as many columns.
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
