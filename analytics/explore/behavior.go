package explore

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
)

// Scope says whose events a behavioral filter counts.
type Scope string

// The scopes.
const (
	OfVisit   Scope = "visit"   // events of the visit
	OfVisitor Scope = "visitor" // events of the visitor's day: an address and browser on one day of the site
	OfUser    Scope = "user"    // events of the identified user, on all days of the range or of a window
)

// Limits of behavioral filters.
const (
	maxTimes      = 1_000_000
	maxPast       = 366 // days
	maxWindows    = 5   // different windows of the filters of one question, each of which is read
	behaviorUsage = "a behavioral filter begins with visit.did, visitor.did or user.did, or did_not, and may have a number of times and for users a number of days: visit.did:event:is:order, visitor.did_not:page:is:/pricing, user.did.2-5.30d:goal:is:signup"
)

// Behavior is the part of a behavioral filter that says whose events are counted, and how many are
// required. It precedes the dimension: user.did.2-5.30d:event selects visits of users with 2 to 5
// matching events in the last 30 days of the range.
type Behavior struct {
	Scope       Scope
	Not         bool
	Least, Most int64 // times, both inclusive
	Days        int   // window that ends with the range; 0: the range
}

// Behavior splits the filter's dimension into a behavior and the dimension of the action. If the filter
// is not behavioral, ok is false and subject is its dimension. Errors: ErrQuestion.
func (f *Filter) Behavior() (b Behavior, subject analytics.Dimension, ok bool, err error) {
	head, rest, _ := strings.Cut(string(f.Dimension), ":")
	words := strings.Split(head, ".")
	b = Behavior{Scope: Scope(words[0]), Least: unset, Most: math.MaxInt64}
	if len(words) < 2 || b.Scope != OfVisit && b.Scope != OfVisitor && b.Scope != OfUser {
		return Behavior{}, f.Dimension, false, nil
	}
	if words[1] != "did" && words[1] != "did_not" || len(words) > 4 {
		return b, "", true, fmt.Errorf("%w: %s", ErrQuestion, behaviorUsage)
	}
	b.Not = words[1] == "did_not"
	for _, word := range words[2:] {
		if err := b.parse(word); err != nil {
			return b, "", true, err
		}
	}
	if b.Least == unset {
		b.Least = 1
	}
	return b, analytics.Dimension(rest), true, nil
}

const unset = -1 // Behavior.Least before a number of times is parsed

// parse reads a number of times, such as 2-5, 2- or -5, or a number of days, such as 30d.
func (b *Behavior) parse(word string) error {
	bad := fmt.Errorf("%w: %.40q in a behavioral filter: use times such as 2-, 2-5 or -5, up to %d, or days such as 30d, up to %d", ErrQuestion, word, maxTimes, maxPast)
	if strings.Contains(word, "+") { // strconv accepts a sign
		return bad
	}
	if days, is := strings.CutSuffix(word, "d"); is {
		n, err := strconv.Atoi(days)
		switch {
		case err != nil || n < 1 || n > maxPast || b.Days != 0:
			return bad
		case b.Scope != OfUser:
			return fmt.Errorf("%w: only users are known on several days; use user.did for a number of days", ErrQuestion)
		}
		b.Days = n
		return nil
	}
	least, most, is := strings.Cut(word, "-")
	if !is || word == "-" || b.Least != unset {
		return bad
	}
	b.Least = 0
	for i, n := range []*int64{&b.Least, &b.Most} {
		text := []string{least, most}[i]
		if text == "" {
			continue
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v < 0 || v > maxTimes {
			return bad
		}
		*n = v
	}
	if b.Least > b.Most || b.Least == 0 && b.Most == math.MaxInt64 {
		return bad
	}
	return nil
}

// checkBehavior checks the dimension, operator and values of an action. Errors: ErrQuestion.
func (f *Filter) checkBehavior(subject analytics.Dimension) error {
	if _, known := facetOf(subject); !known {
		return fmt.Errorf("%w: %q in a behavioral filter: %s", ErrQuestion, subject, behaviorUsage)
	}
	if f.Op == IsNot || f.Op == ContainsNot {
		return fmt.Errorf("%w: a behavioral filter is negated by did_not; use is, contains or matches", ErrQuestion)
	}
	if slices.Contains(f.Values, analytics.None) {
		return fmt.Errorf("%w: nobody does %s; use did_not", ErrQuestion, analytics.None)
	}
	return nil
}

// behavior is a compiled Behavior.
type behavior struct {
	Behavior
	done  *condition       // the action
	users map[uint64]int64 // of OfUser: how often each user did it, set by scan.meet
}

func (b *behavior) meets(times int64) bool { return times >= b.Least && times <= b.Most }

// times returns a function that counts the events of a visit that match a condition. If visits have
// one value of the dimension, a matching visit counts once.
func (d *columns) times(c *condition) func(v int) int64 {
	asked := &askedColumn{condition: c, facetColumn: d.facet(c.facet)}
	asked.answers = make([]answer, len(asked.values))
	return func(v int) (n int64) {
		switch {
		case asked.one != nil:
			if agrees, _ := asked.ask(asked.one.at(v)); agrees {
				n = 1
			}
		case asked.goal != nil:
			for i, end := asked.goal.of(v); i < end; i++ {
				if agrees, _ := asked.ask(asked.goal.goal.at(i)); agrees {
					n += asked.goal.count[i]
				}
			}
		default:
			for e, end := d.events(v); e < end; e++ {
				if d.isSilent(e) {
					continue
				}
				if agrees, _ := asked.ask(asked.of(e)); agrees {
					n++
				}
			}
		}
		return n
	}
}

// behaves returns the selector of a behavior for one day. Visits without a user match neither user.did
// nor user.did_not, because nothing is known about their visitors' other days.
func (d *columns) behaves(b *behavior) selector {
	switch b.Scope {
	case OfUser:
		return func(v int) bool {
			who := d.userOf(v)
			return who != 0 && b.meets(b.users[who]) != b.Not
		}
	case OfVisitor:
		times, sums := d.times(b.done), map[uint32]int64{}
		for v, who := range d.visitor {
			if n := times(v); n > 0 {
				sums[who] += n
			}
		}
		return func(v int) bool { return b.meets(sums[d.visitor[v]]) != b.Not }
	}
	times := d.times(b.done)
	return func(v int) bool { return b.meets(times(v)) != b.Not }
}

// meet counts the actions of each user that the scan's conditions require. Conditions with the same
// window share one read of its days. Errors: ErrQuestion, ErrTooMuch, ErrGone.
func (s *scan) meet(ctx context.Context, r Range) error {
	windows := map[string][]*behavior{} // by first day
	collectBehaviors(s.conditions, func(b *behavior) {
		first := r.From
		if b.Days > 0 {
			first = calendar.ShiftDay(r.To, 1-b.Days)
		}
		windows[first] = append(windows[first], b)
	})
	if len(windows) > maxWindows {
		return fmt.Errorf("%w: the filters have more than %d different windows of days", ErrQuestion, maxWindows)
	}
	for _, first := range slices.Sorted(maps.Keys(windows)) {
		if err := s.meetIn(ctx, Range{r.Site, first, r.To}, windows[first]); err != nil {
			return err
		}
	}
	if len(windows) > 0 {
		s.behavioral = append(s.behavioral, "Filters on what users did select only visits of identified users.")
	}
	return nil
}

// collectBehaviors calls note with each behavior of users, including those in segments.
func collectBehaviors(all []*condition, note func(*behavior)) {
	for _, c := range all {
		if c.behavior != nil && c.behavior.Scope == OfUser {
			note(c.behavior)
		}
		for _, segment := range c.any {
			collectBehaviors(segment, note)
		}
	}
}

// meetIn is meet for the behaviors of one window.
func (s *scan) meetIn(ctx context.Context, r Range, all []*behavior) error {
	w, err := s.x.siteOf(ctx, r)
	if err != nil {
		return err
	}
	if err := w.divide(ctx, calendar.Days(r.From, r.To)); err != nil {
		return fmt.Errorf("explore: %s: %w", r.Site, err)
	}
	if len(w.days) == 0 {
		return fmt.Errorf("%w: from %s to %s; request later days or remove the filters", ErrGone, r.From, r.To)
	}
	if len(w.lost) > 0 && r.From < s.first {
		s.behavioral = append(s.behavioral, "What users did on "+spansText(w.lost)+" has expired and is unknown.")
	}
	w.left.Store(s.left.Load())
	users := 0
	for _, b := range all {
		b.users = map[uint64]int64{}
	}
	err = w.each(ctx, func(_ string, d *columns) error {
		for _, b := range all {
			times := d.times(b.done)
			for v := range d.visitor {
				who := d.userOf(v)
				if who == 0 {
					continue
				}
				if n := times(v); n > 0 {
					if b.users[who] == 0 {
						users++
					}
					b.users[who] += n
				}
			}
		}
		if users > s.x.o.Users {
			return fmt.Errorf("%w: the filters concern more than %d users; request fewer days", ErrTooMuch, s.x.o.Users)
		}
		return ctx.Err()
	})
	s.left.Store(w.left.Load())
	return err
}
