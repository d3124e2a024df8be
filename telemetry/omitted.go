package telemetry

import (
	"cmp"
	"maps"
	"slices"
)

// Omitted is a value that was left out of a reading because it cannot be stored.
type Omitted struct {
	Metric string `json:"metric"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail"` // for people
}

// fit leaves out invalid values, so that they do not cost the others, and nulls. It never modifies
// in, and returns in if nothing is left out.
func (b *batch) fit(i int, s *deviceState, in *Incoming) *Incoming {
	values, omitted := in.Values, in.Omitted
	for name, v := range in.Values {
		rejected := s.faultOf(name, v)
		if rejected == nil && !v.IsZero() {
			continue
		}
		if len(values) == len(in.Values) {
			values = maps.Clone(in.Values)
		}
		delete(values, name)
		if rejected != nil {
			omitted = append(slices.Clip(omitted), Omitted{shorten(name), rejected.reason, rejected.detail})
		}
	}
	if len(values) == len(in.Values) && len(omitted) == 0 {
		return in
	}
	fits := *in
	fits.Values, fits.Omitted = values, slices.Clone(omitted)
	return &fits
}

// omit records the values left out of an accepted reading.
func (b *batch) omit(i int, all, more []Omitted) {
	if all = slices.Concat(all, more); len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(x, y Omitted) int { return cmp.Compare(x.Metric, y.Metric) })
	if b.omitted == nil {
		b.omitted = map[int][]Omitted{}
	}
	b.omitted[i] = all
}

// addOmitted adds omitted values to the outcomes of stored readings.
func (b *batch) addOmitted() {
	for i, omitted := range b.omitted {
		if o := &b.outcomes[i]; o.Status != "" && o.Status != Rejected {
			o.Omitted = omitted
		}
	}
}

// Kept returns the values of a reading without the omitted ones.
func (o *Outcome) Kept(values Values) Values {
	kept := maps.Clone(values)
	maps.DeleteFunc(kept, func(name string, v Value) bool {
		return v.IsZero() || slices.ContainsFunc(o.Omitted, func(x Omitted) bool { return x.Metric == name })
	})
	return kept
}
