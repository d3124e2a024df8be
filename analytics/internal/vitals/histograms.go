package vitals

import (
	"encoding/binary"
	"errors"

	"github.com/onefold/onefold/internal/varint"
)

// ErrMalformed is returned when stored bytes are not encoded histograms.
var ErrMalformed = errors.New("vitals: not histograms")

// Histograms holds one histogram per measured metric, in encoded form (docs/format/analytics.md).
// Equal counts have equal encodings, regardless of the order of additions, so values can be
// compared with ==. The zero value is empty. Counts may be negative, for subtraction.
type Histograms string

// cell is a nonempty bucket of a metric.
type cell struct {
	metric Metric
	bucket int
	count  int64
}

func (c cell) before(o cell) bool {
	return c.metric < o.metric || c.metric == o.metric && c.bucket < o.bucket
}

// Of returns the histogram of one measurement.
func Of(m Metric, value float64) Histograms {
	return encode([]cell{{m, scales[m].bucket(value), 1}})
}

// Parse decodes stored histograms. Errors: ErrMalformed.
func Parse(b []byte) (Histograms, error) {
	cells, err := decode(b)
	if err != nil {
		return "", err
	}
	return encode(cells), nil
}

// Plus returns the sum of h and o, or h minus o if sign is -1.
func (h Histograms) Plus(o Histograms, sign int64) Histograms {
	if o == "" || sign == 0 {
		return h
	}
	a, b := h.cells(), o.cells()
	sum := make([]cell, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].before(b[0]):
			sum, a = append(sum, a[0]), a[1:]
		case len(a) == 0 || b[0].before(a[0]):
			sum, b = append(sum, cell{b[0].metric, b[0].bucket, sign * b[0].count}), b[1:]
		default:
			if n := a[0].count + sign*b[0].count; n != 0 {
				sum = append(sum, cell{a[0].metric, a[0].bucket, n})
			}
			a, b = a[1:], b[1:]
		}
	}
	return encode(sum)
}

// cells returns the buckets in order. It cannot fail for histograms from Of, Parse and Plus.
func (h Histograms) cells() []cell {
	cells, err := decode([]byte(h))
	if err != nil {
		return nil
	}
	return cells
}

// encode encodes sorted cells. Each cell starts with the distance of its bucket from the previous
// one.
func encode(cells []cell) Histograms {
	buf := make([]byte, 0, 4+3*len(cells))
	for i := 0; i < len(cells); {
		n := i
		for n < len(cells) && cells[n].metric == cells[i].metric {
			n++
		}
		buf = append(buf, byte(cells[i].metric))
		buf = binary.AppendUvarint(buf, uint64(n-i))
		for last := lowest; i < n; i++ {
			buf = binary.AppendUvarint(buf, uint64(cells[i].bucket-last))
			buf = binary.AppendVarint(buf, cells[i].count)
			last = cells[i].bucket
		}
	}
	return Histograms(buf)
}

func decode(b []byte) ([]cell, error) {
	r := varint.NewReader(b)
	var cells []cell
	for r.More() {
		metric := r.Uint()
		if metric < uint64(LCP) || metric > uint64(CLS) || len(cells) > 0 && Metric(metric) <= cells[len(cells)-1].metric {
			return nil, ErrMalformed
		}
		bucket := lowest
		for i := range r.Count() {
			step := r.Uint()
			if step > highest-lowest || step == 0 && i > 0 {
				return nil, ErrMalformed
			}
			bucket += int(step)
			c := cell{Metric(metric), bucket, r.Int()}
			if bucket > highest || c.count == 0 {
				return nil, ErrMalformed
			}
			cells = append(cells, c)
		}
	}
	if r.Failed() {
		return nil, ErrMalformed
	}
	return cells, nil
}

// Summary summarizes a metric.
type Summary struct {
	Count                        int64 // measured page loads
	Good, NeedsImprovement, Poor int64 // of these; exact
	P75                          float64
}

// Summary returns the summary of a metric. P75 is the 75th percentile, with an error of less than 5
// % and always on the correct side of the thresholds. Values below 1/40 of Good become 0, and
// values above about 20 times Good are capped.
func (h Histograms) Summary(m Metric) Summary {
	var s Summary
	scale := scales[m]
	cells := h.cells()
	for _, c := range cells {
		switch {
		case c.metric != m:
			continue
		case c.bucket <= 0:
			s.Good += c.count
		case c.bucket <= scale.steps:
			s.NeedsImprovement += c.count
		default:
			s.Poor += c.count
		}
		s.Count += c.count
	}
	rank, seen := (3*s.Count+3)/4, int64(0) // nearest-rank method
	for _, c := range cells {
		if c.metric != m {
			continue
		}
		if seen += c.count; seen >= rank {
			s.P75 = scale.middle(c.bucket)
			break
		}
	}
	return s
}
