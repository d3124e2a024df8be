package devicecli

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/telemetry"
)

// plotSeries draws a curve. Time is linear from left to right; periods without readings are gaps.
func plotSeries(out io.Writer, s *telemetry.Series, zone *time.Location) error {
	curve, from, to := spread(s.Points)
	if curve == nil {
		_, err := fmt.Fprintf(out, "Nothing to draw: %s\n", about(s))
		return err
	}
	_, err := fmt.Fprintf(out, "%s\n%s\n", terminal.Plot([]string{timeAxis(from, to, zone)}, curve), about(s))
	return err
}

// timeAxis returns the axis of a plot, with the ends of its range.
func timeAxis(from, to time.Time, zone *time.Location) string {
	const minute = "2006-01-02 15:04"
	return terminal.Ends(from.In(zone).Format(minute), to.In(zone).Format(minute))
}

// spread assigns points to the columns of a plot: each column has the mean of its points, or NaN if
// it has none. The curve is nil if there are no numbers.
func spread(points []telemetry.Point) (curve []float64, from, to time.Time) {
	if len(points) == 0 {
		return nil, from, to
	}
	from, to = points[0].At, points[len(points)-1].At
	width := terminal.PlotWidth
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
	return curve, from, to
}
