// Package vitals counts web vitals in histograms, of a page, a device or a site, over any period.
// Histograms can be added and subtracted exactly, so days and months are sums of hours.
package vitals

import "math"

// Metric is a web vital.
type Metric uint8

// The metrics, as defined by https://web.dev/articles/vitals. Their numbers are stored.
const (
	LCP Metric = iota + 1 // largest contentful paint, milliseconds
	INP                   // interaction to next paint, milliseconds
	CLS                   // cumulative layout shift, unitless
)

// Metrics lists all metrics.
var Metrics = [...]Metric{LCP, INP, CLS}

// Scale has the thresholds of a metric from web.dev: values up to Good are good, values above Poor
// are poor, and values between them need improvement.
type Scale struct {
	Name       string
	Good, Poor float64

	steps int // buckets from Good to Poor, so many that the bucket width is less than 10 %
}

var scales = [...]Scale{
	LCP: {"lcp", 2500, 4000, 5},
	INP: {"inp", 200, 500, 10},
	CLS: {"cls", 0.1, 0.25, 10},
}

// Scale returns the scale of the metric.
func (m Metric) Scale() Scale { return scales[m] }

// The buckets of a scale. Bucket b holds values in (good·w^(b-1), good·w^b], where w is the width.
// So good values are in buckets up to 0, and poor values in buckets above steps. The lowest bucket
// also holds everything below it, and the highest everything above.
const (
	lowest  = -40 // up to 1/40 of Good
	highest = 32  // about 20 times Good
)

// width returns the ratio between adjacent bucket limits.
func (s *Scale) width() float64 { return math.Pow(s.Poor/s.Good, 1/float64(s.steps)) }

// bucket returns the bucket of a value. Rounding never moves a value across a threshold.
func (s *Scale) bucket(value float64) int {
	if !(value > 0) {
		return lowest
	}
	b := int(min(max(math.Ceil(math.Log(value/s.Good)/math.Log(s.width())), lowest), highest))
	switch {
	case value <= s.Good:
		return min(b, 0)
	case value <= s.Poor:
		return min(max(b, 1), s.steps)
	}
	return max(b, s.steps+1)
}

// middle returns the value that represents a bucket, within 5 % of its values; 0 for the lowest.
func (s *Scale) middle(bucket int) float64 {
	if bucket <= lowest {
		return 0
	}
	return s.Good * math.Pow(s.width(), float64(bucket)-0.5)
}

// Bounded returns x limited to [0, most], or 0 for NaN.
func Bounded(x, most float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, most)
}
