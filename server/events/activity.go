package events

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
)

type activityRequest struct {
	Range string `query:"range" enum:"24h,7d" default:"24h" doc:"24 hours in steps of an hour, or 7 days in steps of 6 hours."`
}

type activityAnswer struct {
	Body struct {
		From    time.Time `json:"from" doc:"Beginning of the first step: a multiple of step in UTC."`
		Step    int64     `json:"step" doc:"Seconds of a step."`
		Appends []int64   `json:"appends" doc:"Appends that entered the feed, by step. The last step is not over yet."`
		Through int64     `json:"through" doc:"Position of the feed up to which appends were counted."`
	}
}

func (s *Service) activityRoutes(api huma.API) {
	op := operation(middleware.ForRead, "feed-activity", http.MethodGet, root+"/feed/activity", "Count the appends of the last 24 hours or 7 days")
	op.Description = "Counts appends when they enter the feed, moments after they were stored. Appends have positions without gaps, so they are counted by searching the positions at the ends of the steps, whatever their number."
	huma.Register(api, op, s.activity)
}

func (s *Service) activity(ctx context.Context, in *activityRequest) (*activityAnswer, error) {
	step, steps := time.Hour, 24
	if in.Range == "7d" {
		step, steps = 6*time.Hour, 28
	}
	from := s.table.Now().UTC().Truncate(step).Add(-time.Duration(steps-1) * step)
	times := make([]time.Time, steps)
	for i := range times {
		times[i] = from.Add(time.Duration(i) * step)
	}
	positions, end, err := s.positionsAt(ctx, times)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(activityAnswer)
	answer.Body.From, answer.Body.Step, answer.Body.Through = from, int64(step/time.Second), end
	for i, before := range positions {
		after := end
		if i+1 < len(positions) {
			after = positions[i+1]
		}
		answer.Body.Appends = append(answer.Body.Appends, max(after-before, 0))
	}
	return answer, nil
}

// positionsAt returns the positions of the feed at increasing times, and its last position.
func (s *Service) positionsAt(ctx context.Context, times []time.Time) (positions []int64, end int64, err error) {
	head, err := s.store.FeedHead(ctx)
	if err != nil {
		return nil, 0, err
	}
	positions, ask := s.passed.lookUp(times)
	found, err := s.store.FeedPositionsAt(ctx, ask)
	if err != nil {
		return nil, 0, err
	}
	for i, t := range ask {
		positions[slices.IndexFunc(times, t.Equal)] = found[i]
		if t.Before(head.UpdatedAt) {
			s.passed.keep(t, found[i])
		}
	}
	return positions, head.Position, nil
}

// passedTimes remembers the positions of the feed at times that the feed has passed, which no longer
// change. The zero value is ready to use.
type passedTimes struct {
	mu sync.Mutex // guards at
	at map[int64]int64
}

const maxPassed = 1000

// lookUp returns the known positions, and the times whose positions are unknown.
func (p *passedTimes) lookUp(times []time.Time) (positions []int64, unknown []time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	positions = make([]int64, len(times))
	for i, t := range times {
		at, known := p.at[t.UnixNano()]
		if positions[i] = at; !known {
			unknown = append(unknown, t)
		}
	}
	return positions, unknown
}

func (p *passedTimes) keep(t time.Time, position int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil || len(p.at) >= maxPassed {
		p.at = make(map[int64]int64)
	}
	p.at[t.UnixNano()] = position
}
