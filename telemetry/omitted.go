package telemetry

import (
	"cmp"
	"maps"
	"slices"
)

// Omitted is a value that was left out of a reading, because it cannot be stored.
type Omitted struct {
	Metric string `json:"metric"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail"` // for people
}

// fit leaves out what cannot be stored of a reading: one bad value costs itself, not the others. A null is no value at all.
func (b *batch) fit(i int, s *deviceState, in *Incoming) *Incoming {
	fits := *in
	fits.Omitted = slices.Clone(in.Omitted)
	leave := func(name string) {
		if len(fits.Values) == len(in.Values) {
			fits.Values = maps.Clone(in.Values)
		}
		delete(fits.Values, name)
	}
	for name, v := range in.Values {
		if v.IsZero() {
			leave(name)
		} else if refused := s.faultOf(name, v); refused != nil {
			leave(name)
			fits.Omitted = append(fits.Omitted, Omitted{shorten(name), refused.reason, refused.detail})
		}
	}
	if len(fits.Omitted) > 0 {
		slices.SortFunc(fits.Omitted, func(x, y Omitted) int { return cmp.Compare(x.Metric, y.Metric) })
		if b.omitted == nil {
			b.omitted = map[int][]Omitted{}
		}
		b.omitted[i] = fits.Omitted
	}
	return &fits
}

// tellOmitted says in the outcomes what was left out of readings that were taken. Of those that were not, the outcome has the reason.
func (b *batch) tellOmitted() {
	for i, omitted := range b.omitted {
		if o := &b.outcomes[i]; o.Status != "" && o.Status != Rejected {
			o.Omitted = omitted
		}
	}
}

// Kept are the values of a reading without those that were left out of it.
func (o *Outcome) Kept(values Values) Values {
	kept := maps.Clone(values)
	maps.DeleteFunc(kept, func(name string, v Value) bool {
		return v.IsZero() || slices.ContainsFunc(o.Omitted, func(x Omitted) bool { return x.Metric == name })
	})
	return kept
}
