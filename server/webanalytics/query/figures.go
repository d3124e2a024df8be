package query

import "github.com/onefold/onefold/analytics/report"

// Figures has the figures of a bucket or range, with the averages computed from them.
type Figures struct {
	report.Figures
	BounceRate    *float64 `json:"bounceRate,omitempty" doc:"bounces / visits; absent if there are no visits."`
	Duration      *float64 `json:"duration,omitempty" doc:"Average seconds per visit."`
	ViewsPerVisit *float64 `json:"viewsPerVisit,omitempty"`
}

// FiguresOf computes the averages of figures.
func FiguresOf(f report.Figures) Figures {
	return Figures{
		Figures: f, BounceRate: ratio(f.Bounces, f.Visits), Duration: ratio(f.Seconds, f.Visits), ViewsPerVisit: ratio(f.PageViews, f.Visits),
	}
}

// ratio returns of / by, or nil if by is 0.
func ratio(of, by int64) *float64 {
	if by <= 0 {
		return nil
	}
	r := float64(of) / float64(by)
	return &r
}
