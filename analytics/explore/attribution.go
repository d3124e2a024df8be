package explore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
)

// Model says how the revenue of an event is divided among the visits before it.
type Model string

// The models.
const (
	FirstTouch Model = "first"      // all to the first visit of the lookback window
	LastTouch  Model = "last"       // all to the last visit that began before the event
	Linear     Model = "linear"     // equally to all visits
	TimeDecay  Model = "time_decay" // half as much to a visit that began a half-life earlier
)

// Models lists the models.
var Models = []Model{FirstTouch, LastTouch, Linear, TimeDecay}

// Limits and defaults of attribution.
const (
	DefaultLookback = 30 // days
	DefaultHalfLife = 7  // days
	maxLookback     = 90
	maxHalfLife     = 90
	maxTouches      = 2_000_000 // limits the remembered visits, and the visits that all events with revenue are divided among
)

// AttributionIn asks which values of a dimension of visits earned the revenue of a range.
type AttributionIn struct {
	Range
	Filters  []Filter            // of the visits with revenue; visits before them need not match
	By       analytics.Dimension // a dimension with one value per visit, such as source
	Lookback int                 // days before the revenue in which visits count, 1 to 90; default 30
	HalfLife int                 // days, of TimeDecay, 1 to 90; default 7
}

// Credit is the revenue attributed to one value. In each model, the revenue of all values adds up
// exactly to the total.
type Credit struct {
	Value   string
	Events  int64            // events with revenue that are attributed to a visit with the value
	Revenue map[Model]string // exact decimals; "0" for none
}

// Attribution is the revenue of a range by value.
type Attribution struct {
	Events  int64  // events with revenue
	Revenue string // exact decimal
	Known   int64  // events whose user is known, so that visits of earlier days count
	Credits []Credit
	Source  Source
	Notes   []string
}

func (in *AttributionIn) check() error {
	in.Lookback, in.HalfLife = cmp.Or(in.Lookback, DefaultLookback), cmp.Or(in.HalfLife, DefaultHalfLife)
	f, known := facetOf(in.By)
	switch {
	case !known || !f.ofVisit():
		return fmt.Errorf("%w: attribution needs a dimension with one value per visit, such as source, channel, utm_campaign or entry_page, not %.40q", ErrQuestion, in.By)
	case in.Lookback < 1 || in.Lookback > maxLookback:
		return fmt.Errorf("%w: the lookback is 1 to %d days, not %d", ErrQuestion, maxLookback, in.Lookback)
	case in.HalfLife < 1 || in.HalfLife > maxHalfLife:
		return fmt.Errorf("%w: the half-life is 1 to %d days, not %d", ErrQuestion, maxHalfLife, in.HalfLife)
	}
	return in.Range.check()
}

// Attribution divides the revenue of a range among the visits that led to it: those of the same person
// that began in the lookback window before it. A person is an identified user; all visits of a
// visitor's day belong to the user if exactly one was identified in it. Other visitors are known only
// within their day. Errors: ErrQuestion, ErrTooMuch, ErrGone, table.ErrNotFound.
func (x *Explorer) Attribution(ctx context.Context, in AttributionIn) (Attribution, error) {
	if err := in.check(); err != nil {
		return Attribution{}, err
	}
	wide := in.Range
	wide.From = calendar.ShiftDay(in.From, -in.Lookback)
	s, err := x.scan(ctx, wide, nil)
	if err != nil {
		return Attribution{}, err
	}
	s.first = in.From
	if s.conditions, err = conditions(in.Filters); err != nil {
		return Attribution{}, err
	}
	if err := s.meet(ctx, in.Range); err != nil {
		return Attribution{}, err
	}
	a := &attributor{in: &in, most: x.o.Values, users: map[uint64][]touch{}, places: map[string]int{}}
	a.facet, _ = facetOf(in.By)
	err = s.each(ctx, func(day string, d *columns) error {
		var paid []int
		if day >= in.From {
			paid = d.chosen(s.conditions)
		}
		if err := a.add(d, paid); err != nil {
			return err
		}
		return ctx.Err()
	})
	if err != nil {
		return Attribution{}, err
	}
	return a.result(s), nil
}

// touch is a visit to which revenue may be attributed.
type touch struct {
	at    int64 // start, epoch milliseconds
	value int   // index in attributor.values
	visit int   // number on the day that is being added; -1 for earlier days
}

// attributor attributes revenue day by day.
type attributor struct {
	in    *AttributionIn
	facet facet
	most  int // values

	users   map[uint64][]touch // visits of earlier days, oldest first
	kept    int                // number of visits in users
	given   int                // visits that events with revenue were divided among
	places  map[string]int     // index in values
	values  []string
	credits []credit
	events  int64
	known   int64
	revenue string
}

// credit is a Credit while it is counted. Amounts are in the order of Models.
type credit struct {
	events  int64
	revenue [4]string
}

// add attributes the revenue of a day's paid visits. Every visit of the day is a touch, paid or not.
func (a *attributor) add(d *columns, paid []int) error {
	column := d.facet(a.facet)
	days := d.people()
	mine := map[uint64][]touch{} // of the day, by user, or by visitor
	for v := range d.visitor {
		who, _ := days.of(v)
		mine[who] = append(mine[who], touch{d.startOf(v), a.place(column.values[column.one.at(v)]), v})
	}
	for who := range mine {
		slices.SortStableFunc(mine[who], func(b, c touch) int {
			return cmp.Or(cmp.Compare(b.at, c.at), cmp.Compare(a.values[b.value], a.values[c.value]))
		})
	}
	for _, v := range paid {
		who, known := days.of(v)
		for e, end := d.events(v); e < end; e++ {
			if amount := d.revenue.text(e); amount != "" {
				before := a.before(who, known, mine[who], v, d.at[e])
				if err := a.give(before, d.at[e], amount, known); err != nil {
					return err
				}
			}
		}
	}
	return a.keep(days, mine)
}

// before returns the touches of a person that share the revenue of an event, in order of start: those
// that began in the lookback window before it, and the event's own visit.
func (a *attributor) before(who uint64, known bool, today []touch, own int, at int64) []touch {
	var all []touch
	since := at - int64(a.in.Lookback)*(24*time.Hour).Milliseconds()
	if known {
		for _, t := range a.users[who] {
			if t.at >= since {
				all = append(all, t)
			}
		}
	}
	for _, t := range today {
		if t.at <= at || t.visit == own {
			all = append(all, t)
		}
	}
	return all
}

// give attributes an amount to visits, by every model. Errors: ErrTooMuch.
func (a *attributor) give(to []touch, at int64, amount string, known bool) error {
	if a.given += len(to); a.given > maxTouches {
		return fmt.Errorf("%w: the users have too many visits; request fewer days, a shorter lookback, or check that different people have different user IDs", ErrTooMuch)
	}
	a.events++
	if known {
		a.known++
	}
	a.revenue = decimal.Add(a.revenue, amount)
	even, decaying := make([]int64, len(to)), make([]int64, len(to))
	seen := map[int]bool{}
	for i, t := range to {
		even[i], decaying[i] = 1, a.decayed(at-t.at)
		if !seen[t.value] {
			seen[t.value] = true
			a.credits[t.value].events++
		}
	}
	a.pay(to[0].value, 0, amount)
	a.pay(to[len(to)-1].value, 1, amount)
	for i, part := range decimal.Divide(amount, even) {
		a.pay(to[i].value, 2, part)
	}
	for i, part := range decimal.Divide(amount, decaying) {
		a.pay(to[i].value, 3, part)
	}
	return nil
}

func (a *attributor) pay(value, model int, amount string) {
	of := &a.credits[value].revenue[model]
	*of = decimal.Add(*of, amount)
}

// decayed returns the weight of a visit of some age, of at most 2^40.
func (a *attributor) decayed(ms int64) int64 {
	const one = 1 << 40
	lives := float64(max(ms, 0)) / float64(int64(a.in.HalfLife)*(24*time.Hour).Milliseconds())
	return int64(math.Round(one * math.Exp2(-lives)))
}

// keep remembers the visits of users for later days, and forgets those before the lookback window.
func (a *attributor) keep(days people, mine map[uint64][]touch) error {
	for who, today := range mine {
		if !days.users[who] {
			continue
		}
		kept := a.users[who]
		old := slices.IndexFunc(kept, func(t touch) bool {
			return t.at >= today[0].at-int64(a.in.Lookback)*(24*time.Hour).Milliseconds()
		})
		if old < 0 {
			old = len(kept)
		}
		a.kept += len(today) - old
		if kept = append([]touch(nil), kept[old:]...); a.kept > maxTouches {
			return fmt.Errorf("%w: there are more than %d visits of users; request fewer days or a shorter lookback", ErrTooMuch, maxTouches)
		}
		for _, t := range today {
			t.visit = -1
			kept = append(kept, t)
		}
		a.users[who] = kept
	}
	return nil
}

// place returns the index of a value in values. Values beyond the limit are counted as analytics.Other.
func (a *attributor) place(value string) int {
	value = cmp.Or(value, analytics.None)
	at, known := a.places[value]
	if !known && len(a.values) >= a.most {
		value = analytics.Other
		at, known = a.places[value]
	}
	if !known {
		at = len(a.values)
		a.places[value] = at
		a.values, a.credits = append(a.values, value), append(a.credits, credit{})
	}
	return at
}

// result returns the values with revenue or events, those with most linear revenue first.
func (a *attributor) result(s *scan) Attribution {
	out := Attribution{Events: a.events, Known: a.known, Revenue: cmp.Or(a.revenue, "0"), Credits: []Credit{}, Source: s.source(), Notes: append([]string{}, s.notes()...)}
	for i, c := range a.credits {
		if c.events == 0 {
			continue
		}
		credit := Credit{Value: a.values[i], Events: c.events, Revenue: map[Model]string{}}
		for n, m := range Models {
			credit.Revenue[m] = cmp.Or(c.revenue[n], "0")
		}
		out.Credits = append(out.Credits, credit)
	}
	SortCredits(out.Credits, Linear)
	return out
}

// SortCredits sorts credits by their revenue in a model, most first.
func SortCredits(all []Credit, by Model) {
	slices.SortFunc(all, func(a, b Credit) int {
		return cmp.Or(decimal.Compare(b.Revenue[by], a.Revenue[by]), cmp.Compare(b.Events, a.Events), cmp.Compare(a.Value, b.Value))
	})
}

// people identifies the visitors of a day.
type people struct {
	d     *columns
	user  map[uint32]uint64 // by visitor: the only user of the visitor's day; 0: there are several
	users map[uint64]bool   // all users of the day
}

func (d *columns) people() people {
	p := people{d, map[uint32]uint64{}, map[uint64]bool{}}
	for v, visitor := range d.visitor {
		who := d.userOf(v)
		if who == 0 {
			continue
		}
		p.users[who] = true
		if only, known := p.user[visitor]; known && only != who {
			p.user[visitor] = 0
		} else {
			p.user[visitor] = who
		}
	}
	return p
}

// of returns the person of a visit: its user, or the only user of its visitor's day. known is false if
// there is none, and the person is the visitor of the day.
func (p people) of(v int) (who uint64, known bool) {
	if who := p.d.userOf(v); who != 0 {
		return who, true
	}
	if who := p.user[p.d.visitor[v]]; who != 0 {
		return who, true
	}
	return visitorPrefix | uint64(p.d.visitor[v]), false
}

// visitorPrefix keeps numbers of visitors apart from hashes of users.
const visitorPrefix = 0x0fed_cba9_0000_0000

// startOf returns when a visit began, in epoch milliseconds.
func (d *columns) startOf(v int) int64 {
	first, end := d.events(v)
	for e := first; e < end; e++ {
		if !d.isSilent(e) {
			return d.at[e]
		}
	}
	if first == end {
		return 0
	}
	return d.at[first]
}
