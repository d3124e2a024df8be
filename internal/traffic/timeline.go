package traffic

import (
	"container/heap"
	"iter"
	"slices"
	"time"
)

const hour = 3_600_000 // in milliseconds

// daily is the relative number of visits that begin in each hour of the day (UTC), and weekly on
// each day of the week from Sunday: office hours from Europe to America.
var (
	daily  = [24]float64{38, 32, 27, 24, 24, 28, 40, 62, 88, 104, 108, 104, 106, 118, 126, 128, 122, 112, 98, 88, 82, 74, 62, 48}
	weekly = [7]float64{58, 108, 118, 120, 116, 104, 62}
)

// rhythm returns the share of a mean day's visits that begin in the hour from the given time.
func (k *profile) rhythm(at int64) float64 {
	t := time.UnixMilli(at).UTC()
	var day, week float64
	for _, w := range k.daily {
		day += w
	}
	for _, w := range k.weekly {
		week += w / 7
	}
	return k.daily[t.Hour()] / day * k.weekly[t.Weekday()] / week
}

// steps yields the steps of all visits in the order of time, endlessly. Visits begin at random,
// with a rate that follows the rhythm; perDay is the number of people's visits on a mean day.
func (g *Generator) steps(perDay float64) iter.Seq2[*visit, step] {
	perDay /= 1 - g.botVisits
	return func(yield func(*visit, step) bool) {
		var open visits
		var begins []int64
		known := regulars{g: g}
		number := int64(0)
		for at, slot := g.o.Start.UnixMilli(), int64(0); ; at, slot = at+hour, slot+1 {
			r := g.random(streamHours, slot)
			begins = begins[:0]
			for range poisson(r, perDay*g.kind.rhythm(at)) {
				begins = append(begins, at+r.Int64N(hour))
			}
			slices.Sort(begins)
			for _, begin := range begins {
				if !open.play(begin, yield) {
					return
				}
				number++
				v := g.newVisit(number, begin)
				if !v.bot {
					known.assign(v)
				}
				heap.Push(&open, v)
			}
			if !open.play(at+hour, yield) {
				return
			}
		}
	}
}

// visits is a heap of current visits, by the time of their next step.
type visits []*visit

// play yields the steps before the given time. It returns false if the consumer stopped.
func (h *visits) play(until int64, yield func(*visit, step) bool) bool {
	for len(*h) > 0 && (*h)[0].next() < until {
		v := (*h)[0]
		s := v.steps[0]
		if v.steps = v.steps[1:]; len(v.steps) == 0 {
			heap.Pop(h)
		} else {
			heap.Fix(h, 0)
		}
		if !yield(v, s) {
			return false
		}
	}
	return true
}

func (h visits) Len() int { return len(h) }

// Less orders visits with equal times by number, so that the order is deterministic.
func (h visits) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.next() != b.next() {
		return a.next() < b.next()
	}
	return a.number < b.number
}

func (h visits) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *visits) Push(x any) { *h = append(*h, x.(*visit)) }

func (h *visits) Pop() any {
	last := len(*h) - 1
	v := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return v
}

// regulars are the latest visitors, some of whom return.
type regulars struct {
	g     *Generator
	last  []regular
	next  int   // index in last that is taken next
	count int64 // number of people so far
}

type regular struct {
	number int64
	end    int64 // of the last visit
}

const (
	maxRegulars = 8192
	returning   = 0.3 // share of visits by returning visitors, where possible
)

// assign chooses the visitor of a visit.
func (k *regulars) assign(v *visit) {
	r := k.g.random(streamPeople, -v.number)
	if r.Float64() < returning && len(k.last) > 0 {
		who := &k.last[r.IntN(len(k.last))]
		if who.end+returnGap < v.next() {
			who.end = v.end()
			v.who = k.g.person(who.number)
			return
		}
	}
	k.count++
	v.who = k.g.person(k.count)
	newcomer := regular{number: k.count, end: v.end()}
	if len(k.last) < maxRegulars {
		k.last = append(k.last, newcomer)
		return
	}
	k.last[k.next] = newcomer
	k.next = (k.next + 1) % maxRegulars
}
