package reconcile

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/analytics"
)

// derive computes everything derived from a day, from its raw events.
func (r *reconciler) derive(ctx context.Context, day string) (*analytics.Derived, error) {
	from, to, err := r.cal.Bounds(day)
	if err != nil {
		return nil, err
	}
	d := analytics.NewDerived()
	for e, err := range analytics.EventsBetween(&r.site, from, to, "").All(ctx, r.t) {
		if err != nil {
			return nil, fmt.Errorf("read the events of %s: %w", day, err)
		}
		d.Add(&e)
		if r.found.Events++; r.found.Events%progressEvery == 0 {
			r.at.Day = day
			r.reportProgress()
		}
	}
	d.Follow()
	return d, nil
}

// progressEvery is the number of events between progress reports.
const progressEvery = 50_000
