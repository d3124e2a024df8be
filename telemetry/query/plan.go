package query

import (
	"time"

	"github.com/onefold/onefold/internal/calendar"
)

// lookBack is how long before the range a counter or state continues.
const lookBack = 24 * time.Hour

// before is the step of what precedes the range.
const before = -1

// segment is a part of a step: a whole hour, or a range that only readings can answer.
type segment struct {
	span
	step int
	hour string // name of the hour's aggregate; "": readings
}

// plan is how the steps are made of segments. It is the same for all devices.
type plan struct {
	steps      []span
	segments   []segment // in order, without gaps
	hours      int       // segments with an aggregate
	start, end string    // names of the aggregates to read, half-open; "": none
}

// fresh is for how long readings are kept at least. It is shorter than the shortest retention.
const fresh = 24 * time.Hour

func newPlan(in *Request, zone calendar.Zone, now time.Time, most int) (p plan, err error) {
	if p.steps, err = in.steps(zone, most); err != nil {
		return p, err
	}
	if in.Function.continues() {
		p.divide(in, zone, span{in.From.Add(-lookBack), in.From}, before)
	}
	for i := range p.steps {
		p.divide(in, zone, p.steps[i], i)
	}
	for i := range p.segments {
		s := &p.segments[i]
		if s.hour != "" {
			p.hours++
		} else if s.from.After(now.Add(-fresh)) {
			continue // its readings are kept: no aggregate needs to say so
		}
		if p.start == "" {
			p.start = zone.Hour(s.from)
		}
		p.end = zone.Hour(s.to.Add(-time.Nanosecond)) + "~"
	}
	return p, nil
}

// divide appends the segments of a step.
func (p *plan) divide(in *Request, zone calendar.Zone, s span, step int) {
	raw := func(from, to time.Time) {
		if from.Before(to) {
			p.segments = append(p.segments, segment{span{from, to}, step, ""})
		}
	}
	at := s.from
	for next := at; in.Source != RawReadings && next.Before(s.to); {
		from, to := zone.HourBounds(next)
		if next = to; to.After(s.to) {
			break
		}
		if from.Before(at) { // the hour began before the step
			continue
		}
		raw(at, from)
		p.segments = append(p.segments, segment{span{from, to}, step, zone.Hour(from)})
		at = to
	}
	raw(at, s.to)
}
