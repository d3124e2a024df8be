package analytics

import (
	"strings"

	"github.com/onefold/onefold/analytics/internal/dimension"
	"github.com/onefold/onefold/analytics/internal/vitals"
)

// The breakdowns of web vitals. They are separate dimensions, so that sites without vitals pay
// nothing, and others write them only when vitals arrive, not at every page view.
const (
	VitalsByPage   = dimension.VitalsOf + dimension.Page
	VitalsByDevice = dimension.VitalsOf + dimension.Device
)

// maxVitalsValues is how many pages of a bucket have their own vitals. A page takes about 150
// bytes, with all buckets of millions of page loads less than a thousand.
const maxVitalsValues = 200

// histograms returns the vitals of one page load, empty if none was measured.
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

func ofVitals(d Dimension) bool { return strings.HasPrefix(string(d), dimension.VitalsOf) }
