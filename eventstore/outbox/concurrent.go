package outbox

import (
	"context"
	"errors"

	"github.com/onefold/onefold/eventstore"
)

// errNoAnswer is the error of an event for which a destination has returned none of its results.
var errNoAnswer = errors.New("outbox: the destination returned no result for the event")

// Concurrent returns a Destination that sends up to atOnce events at the same time, for services
// that accept some events of a request and refuse others. send returns the error of each event, nil
// if it was accepted. It never gets two events of an aggregate, so an event cannot overtake an
// earlier one that is refused. Events that were accepted behind a refused one are sent again.
func Concurrent(atOnce int, send func(ctx context.Context, events []*Event) []error) Destination {
	return &concurrent{max(atOnce, 1), send}
}

type concurrent struct {
	atOnce int
	send   func(context.Context, []*Event) []error
}

// progress is what is known of the events of a call.
type progress struct {
	accepted []bool
	at       int           // first event that is not accepted
	failed   map[int]error // by index
	until    int           // first event that failed, or the number of events: later ones are not sent
}

// Send implements Destination. Events are sent until the first one that is not accepted has been
// tried, so that the error is its own.
func (c *concurrent) Send(ctx context.Context, events []Event) (int, error) {
	p := progress{accepted: make([]bool, len(events)), failed: map[int]error{}, until: len(events)}
	for p.at < len(events) {
		if err := p.failed[p.at]; err != nil {
			return p.at, err
		}
		if err := ctx.Err(); err != nil {
			return p.at, err
		}
		wave := p.next(events, c.atOnce)
		batch := make([]*Event, len(wave))
		for i, n := range wave {
			batch[i] = &events[n]
		}
		errs := c.send(ctx, batch)
		for i, n := range wave {
			switch {
			case i >= len(errs):
				p.fail(n, errNoAnswer)
			case errs[i] != nil:
				p.fail(n, errs[i])
			default:
				p.accepted[n] = true
			}
		}
		for p.at < len(events) && p.accepted[p.at] {
			p.at++
		}
	}
	return len(events), nil
}

func (p *progress) fail(n int, err error) {
	p.failed[n] = err
	p.until = min(p.until, n)
}

// next returns the indexes of events to send: the first one of each aggregate that is not accepted,
// from a window, so that few are repeated after a failure.
func (p *progress) next(events []Event, atOnce int) []int {
	var wave []int
	seen := map[eventstore.ID]bool{}
	for n := p.at; n < min(p.until, p.at+2*atOnce) && len(wave) < atOnce; n++ {
		if id := events[n].Aggregate; !p.accepted[n] && !seen[id] {
			seen[id] = true
			wave = append(wave, n)
		}
	}
	return wave
}
