package devicecli

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"

	"github.com/onefold/onefold/telemetry"
)

const (
	plotWidth  = 72
	plotHeight = 14
)

// plotSeries draws a curve of numbers. Time runs evenly from left to right; where nothing was measured there is a gap.
func plotSeries(out io.Writer, s *telemetry.Series, zone *time.Location) error {
	curve, from, to := spread(s.Points)
	if curve == nil {
		_, err := fmt.Fprintf(out, "Nothing to draw: %s\n", about(s))
		return err
	}
	drawing := asciigraph.Plot(curve, asciigraph.Height(plotHeight), asciigraph.Precision(2))
	axis := strings.IndexAny(firstLine(drawing), "┤┼")
	_, err := fmt.Fprintf(out, "%s\n%s%s\n%s\n", drawing, strings.Repeat(" ", max(axis, 0)+1), timeAxis(from, to, zone), about(s))
	return err
}

// timeAxis is the ends of a plot's range, each at its side.
func timeAxis(from, to time.Time, zone *time.Location) string {
	left, right := from.In(zone).Format("2006-01-02 15:04"), to.In(zone).Format("2006-01-02 15:04")
	return left + strings.Repeat(" ", max(plotWidth-len(left)-len(right), 1)) + right
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// spread spreads points over the columns of a plot: the mean of those in a column, NaN where there is none. Nil if there
// is no number.
func spread(points []telemetry.Point) (curve []float64, from, to time.Time) {
	if len(points) == 0 {
		return nil, from, to
	}
	from, to = points[0].At, points[len(points)-1].At
	width := plotWidth
	if len(points) < width {
		width = max(len(points), 2)
	}
	sums, counts := make([]float64, width), make([]int, width)
	length := max(to.Sub(from), 1)
	numbers := 0
	for i := range points {
		v, err := strconv.ParseFloat(points[i].Value.String(), 64)
		if err != nil || !points[i].Value.IsNumber() {
			continue
		}
		column := int(float64(width-1)*float64(points[i].At.Sub(from))/float64(length) + 0.5)
		sums[column], counts[column] = sums[column]+v, counts[column]+1
		numbers++
	}
	if numbers == 0 {
		return nil, from, to
	}
	curve = make([]float64, width)
	for i := range curve {
		curve[i] = math.NaN()
		if counts[i] > 0 {
			curve[i] = sums[i] / float64(counts[i])
		}
	}
	return stretched(curve), from, to
}

// stretched widens a curve of few points to the width of a plot, each in as many columns.
func stretched(curve []float64) []float64 {
	if len(curve) >= plotWidth {
		return curve
	}
	wide := make([]float64, plotWidth)
	for i := range wide {
		wide[i] = curve[i*len(curve)/plotWidth]
	}
	return wide
}
