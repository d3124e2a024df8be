package analytics

import (
	"strings"

	"github.com/onefold/onefold/analytics/internal/facets"
	"github.com/onefold/onefold/analytics/internal/vitals"
)

// The breakdowns of which web vitals are made. They are dimensions of their own, so that hours of sites without vitals cost
// nothing more, and those with them are written when vitals come, not at every page view.
const (
	VitalsByPage   = facets.VitalsOf + facets.Page
	VitalsByDevice = facets.VitalsOf + facets.Device
)

// maxVitalsValues is how many pages of a bucket have vitals of their own. One has some 150 bytes, and with all buckets of
// millions of page loads not a thousand.
const maxVitalsValues = 200

// histograms are the vitals of one page load; empty if none was measured.
func (v *Vitals) histograms() (h vitals.Histograms) {
	if v.LCP > 0 {
		h = h.Plus(vitals.Of(vitals.LCP, v.LCP), +1)
	}
	if v.INP > 0 {
		h = h.Plus(vitals.Of(vitals.INP, v.INP), +1)
	}
	if v.CLS != nil {
		h = h.Plus(vitals.Of(vitals.CLS, *v.CLS), +1)
	}
	return h
}

func ofVitals(d Dimension) bool { return strings.HasPrefix(string(d), facets.VitalsOf) }
