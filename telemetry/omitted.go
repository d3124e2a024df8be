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

// fit leaves out what cannot be stored of a reading: one bad value costs itself, not the others. A null is no value at all. It returns
// in itself when there is nothing to leave out, and never changes it.
func (b *batch) fit(i int, s *deviceState, in *Incoming) *Incoming {
	values, omitted := in.Values, in.Omitted
	for name, v := range in.Values {
		refused := s.faultOf(name, v)
		if refused == nil && !v.IsZero() {
			continue
		}
		if len(values) == len(in.Values) {
			values = maps.Clone(in.Values)
		}
		delete(values, name)
		if refused != nil {
			omitted = append(slices.Clip(omitted), Omitted{shorten(name), refused.reason, refused.detail})
		}
	}
	if len(values) == len(in.Values) && len(omitted) == 0 {
		return in
	}
	fits := *in
	fits.Values, fits.Omitted = values, slices.Clone(omitted)
	return &fits
}

// omit notes what was left out of a reading that is taken.
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
