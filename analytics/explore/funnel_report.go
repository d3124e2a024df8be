package explore

import (
	"cmp"
	"context"
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/glob"
)

// FunnelIn selects a funnel report.
type FunnelIn struct {
	Range
	FunnelDefinition
	Filters []Filter
	By      analytics.Dimension // optional dimension of visits to group by
}

// FunnelReport is the result of a funnel.
type FunnelReport struct {
	Steps  []StepCount
	Groups []FunnelGroup // the 20 values of By with the most visits at the first step, in that order
	Source Source
	Notes  []string
}

// StepCount counts the visits that reached a step after all steps before it.
type StepCount struct {
	Name    string
	Visits  int64
	DropOff int64   // visits that reached the previous step but not this one
	Rate    float64 // share of the visits that took the first step, 0 to 1
}

// FunnelGroup counts the visits with one value that reached each step.
type FunnelGroup struct {
	Value  string
	Visits []int64
}

// FunnelReport counts, for each step, the selected visits that took it after all earlier steps,
// within the window from the first step. Errors: ErrQuestion, ErrTooMuch, ErrGone,
// table.ErrNotFound.
func (x *Explorer) FunnelReport(ctx context.Context, in FunnelIn) (FunnelReport, error) {
	if err := in.FunnelDefinition.check(); err != nil {
		return FunnelReport{}, err
	}
	if in.By != "" {
		if by, known := facetOf(in.By); !known || !by.ofVisit() {
			return FunnelReport{}, unknownDimension(in.By)
		}
	}
	s, err := x.scan(ctx, in.Range, in.Filters)
	if err != nil {
		return FunnelReport{}, err
	}
	r := newRunner(in.FunnelDefinition)
	total := make([]int64, len(in.Steps))
	groups := map[string][]int64{}
	err = s.each(ctx, func(_ string, d *columns) error {
		for _, v := range d.chosen(s.conditions) {
			came := r.run(d, v)
			for i := range came {
				total[i]++
			}
			if in.By != "" && came > 0 {
				countGroup(groups, cmp.Or(d.one[in.By].text(v), analytics.None), came, len(in.Steps), x.o.Values)
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return FunnelReport{}, err
	}
	return FunnelReport{Source: s.source(), Steps: stepCounts(in.Steps, total), Groups: greatestGroups(groups), Notes: append([]string{}, s.notes()...)}, nil
}

func countGroup(groups map[string][]int64, value string, came, steps, most int) {
	if groups[value] == nil {
		if len(groups) >= most {
			value = analytics.Other
		}
		if groups[value] == nil {
			groups[value] = make([]int64, steps)
		}
	}
	for i := range came {
		groups[value][i]++
	}
}

func stepCounts(steps []Step, total []int64) []StepCount {
	counts := make([]StepCount, len(steps))
	for i, s := range steps {
		counts[i] = StepCount{Name: s.Name(), Visits: total[i]}
		if i > 0 {
			counts[i].DropOff = total[i-1] - total[i]
		}
		if total[0] > 0 {
			counts[i].Rate = float64(total[i]) / float64(total[0])
		}
	}
	return counts
}

func greatestGroups(groups map[string][]int64) []FunnelGroup {
	all := make([]FunnelGroup, 0, len(groups))
	for value, visits := range groups {
		all = append(all, FunnelGroup{value, visits})
	}
	slices.SortFunc(all, func(a, b FunnelGroup) int {
		return cmp.Or(cmp.Compare(b.Visits[0], a.Visits[0]), cmp.Compare(a.Value, b.Value))
	})
	return all[:min(maxGroups, len(all))]
}

// maxRemembered limits the paths for which a step caches its answer.
const maxRemembered = 100_000

// runner follows visits through a funnel. It is not safe for concurrent use.
type runner struct {
	FunnelDefinition
	windowMS int64
	matches  []map[string]bool // cached answers by step and path
	// began is, by step, the latest time at which a visit that reached the step can have taken the
	// first step; -1: not reached.
	began []int64
}

func newRunner(c FunnelDefinition) *runner {
	r := &runner{FunnelDefinition: c, windowMS: int64(c.WindowMinutes) * 60_000, began: make([]int64, len(c.Steps))}
	for range c.Steps {
		r.matches = append(r.matches, map[string]bool{})
	}
	return r
}

// run returns how many steps a visit took. An event takes at most one step. A later start leaves
// more of the window, so of all ways to reach a step, the one that started last is kept.
func (r *runner) run(d *columns, v int) (came int) {
	for i := range r.began {
		r.began[i] = -1
	}
	for e, end := d.events(v); e < end; e++ {
		if d.isSilent(e) {
			continue
		}
		at := d.at[e]
		for n := min(came, len(r.Steps)-1); n >= 0; n-- {
			if !r.takes(n, d.name.text(e), d.path.text(e)) {
				continue
			}
			began := at
			if n > 0 {
				if began = r.began[n-1]; began < 0 || r.windowMS > 0 && at-began > r.windowMS {
					continue
				}
			}
			r.began[n] = max(r.began[n], began)
			came = max(came, n+1)
		}
	}
	return came
}

// takes reports whether an event is step n.
func (r *runner) takes(n int, name, path string) bool {
	step := &r.Steps[n]
	if step.Event != "" || name != "" {
		return step.Event != "" && name == step.Event
	}
	answer, known := r.matches[n][path]
	if !known {
		answer = glob.Match(step.Path, path)
		if len(r.matches[n]) < maxRemembered {
			r.matches[n][path] = answer
		}
	}
	return answer
}
