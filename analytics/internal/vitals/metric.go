// Package vitals counts web vitals in histograms: of a page, a device or a site, over any time. Histograms add up exactly
// and can be taken off again, so statistics of hours make those of days and months. It is a part of analytics, and used by
// nobody else.
package vitals

import "math"

// Metric is one of the web vitals.
type Metric uint8

// The metrics, as https://web.dev/articles/vitals defines them. Their numbers are stored.
const (
	LCP Metric = iota + 1 // largest contentful paint, milliseconds
	INP                   // interaction to next paint, milliseconds
	CLS                   // cumulative layout shift, without unit
)

// Metrics are all of them.
var Metrics = [...]Metric{LCP, INP, CLS}

// Scale says what values of a metric are good and poor, by web.dev: good up to and with Good, poor above Poor, and in
// need of improvement between.
type Scale struct {
	Name       string
	Good, Poor float64

	steps int // buckets from Good to Poor, such that one is less than a tenth wider than the one before
}

var scales = [...]Scale{
	LCP: {"lcp", 2500, 4000, 5},
	INP: {"inp", 200, 500, 10},
	CLS: {"cls", 0.1, 0.25, 10},
}

// Scale is the scale of the metric.
func (m Metric) Scale() Scale { return scales[m] }

// The buckets of a scale. Bucket b holds what is above good·w^(b-1), up to and with good·w^b, where w is the width: so
// what is good is in buckets up to 0, what is poor in those above steps. The lowest holds all that is below it, too, and
// the highest all above.
const (
	lowest  = -40 // up to a fortieth of what is good
	highest = 32  // about twenty times what is good
)

// width is how many times wider a bucket is than the one before.
func (s *Scale) width() float64 { return math.Pow(s.Poor/s.Good, 1/float64(s.steps)) }

// bucket is the bucket of a value. Rounding never moves a value over a threshold.
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

// middle is the value that stands for a bucket: less than 5 % from any in it. The lowest bucket's is 0.
func (s *Scale) middle(bucket int) float64 {
	if bucket <= lowest {
		return 0
	}
	return s.Good * math.Pow(s.width(), float64(bucket)-0.5)
}
