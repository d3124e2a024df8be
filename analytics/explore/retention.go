package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
)

// RetentionIn selects a retention report.
type RetentionIn struct {
	Range
	Filters []Filter
	By      string // week or day; default week

	// Began is the action with which a user joins a cohort, and Again the action that is counted from
	// then on, such as event is order. Operators are Is, Contains and Matches. Nil: any visit.
	Began, Again *Filter
}

// Retention is a retention report.
type Retention struct {
	Cohorts []Cohort // in order, without empty ones
	Notes   []string
}

// Cohort holds the users who were first seen, or first did RetentionIn.Began, in one week, which begins
// on Monday, or on one day of the range.
type Cohort struct {
	Start    string // first day of the cohort
	Users    int64
	Returned []int64 // users seen, or who did RetentionIn.Again, in each week or day from Start on
}

// maxCohorts limits the weeks or days of a question.
const maxCohorts = 400

// Retention counts identified users by the starts of their sessions in the range. Other visitors
// cannot be recognized on another day. If filters need events, sessions are built from raw events;
// otherwise stored sessions are read. Errors: ErrQuestion, ErrTooMuch, ErrGone, table.ErrNotFound.
func (x *Explorer) Retention(ctx context.Context, in RetentionIn) (Retention, error) {
	width := map[string]int{"": 7, "week": 7, "day": 1}[in.By]
	if width == 0 {
		return Retention{}, fmt.Errorf("%w: cohorts by %q: want week or day", ErrQuestion, in.By)
	}
	if err := in.check(); err != nil {
		return Retention{}, err
	}
	first := in.From
	if width == 7 {
		first = monday(in.From)
	}
	n := calendar.DaysBetween(first, in.To)/width + 1
	if n > maxCohorts {
		return Retention{}, fmt.Errorf("%w: %d cohorts, more than %d; use weeks or fewer days", ErrQuestion, n, maxCohorts)
	}
	if in.Began != nil || in.Again != nil {
		users, notes, err := x.retentionOfActions(ctx, &in, func(day string) int { return calendar.DaysBetween(first, day) / width })
		if err != nil {
			return Retention{}, err
		}
		return Retention{Cohorts: cohorts(maps.Values(users), first, width, n), Notes: notes}, nil
	}
	seen := make(map[string]periods)
	notes, err := x.eachSession(ctx, in.Range, in.Filters, x.turn, func(s *analytics.Session) error {
		if s.UserID == "" {
			return nil
		}
		if seen[s.UserID] == nil && len(seen) >= x.o.Users {
			return fmt.Errorf("%w: there are more than %d users; request fewer days", ErrTooMuch, x.o.Users)
		}
		seen[s.UserID] = seen[s.UserID].with(calendar.DaysBetween(first, s.Day) / width)
		return nil
	})
	if err != nil {
		return Retention{}, err
	}
	return Retention{Cohorts: cohorts(members(seen), first, width, n), Notes: notes}, nil
}

// monday returns the first day of a day's week.
func monday(day string) string {
	at, err := time.Parse(calendar.DayLayout, day)
	if err != nil {
		return day
	}
	return calendar.ShiftDay(day, -(int(at.Weekday())+6)%7)
}

// periods are the sorted numbers of the weeks or days in which a user was seen.
type periods []int16

func (p periods) with(n int) periods {
	i, found := slices.BinarySearch(p, int16(n))
	if found || n < 0 || n >= maxCohorts {
		return p
	}
	return slices.Insert(p, i, int16(n))
}

// members yields the users as members of the cohorts in which they were first seen.
func members(seen map[string]periods) iter.Seq[member] {
	return func(yield func(member) bool) {
		for _, p := range seen {
			if len(p) > 0 && !yield(member{int(p[0]), p}) {
				return
			}
		}
	}
}

func cohorts(users iter.Seq[member], first string, width, n int) []Cohort {
	byStart := map[int]*Cohort{}
	for user := range users {
		start := user.start
		c := byStart[start]
		if c == nil {
			c = &Cohort{Start: calendar.ShiftDay(first, start*width), Returned: make([]int64, n-start)}
			byStart[start] = c
		}
		c.Users++
		for _, at := range user.active {
			if i := int(at) - start; i < len(c.Returned) {
				c.Returned[i]++
			}
		}
	}
	all := make([]Cohort, 0, len(byStart))
	for _, start := range slices.Sorted(maps.Keys(byStart)) {
		all = append(all, *byStart[start])
	}
	return all
}

// eachSession calls use with the selected sessions of a range in order of start, and returns notes
// on what is missing. For raw events it waits for a turn.
func (x *Explorer) eachSession(ctx context.Context, r Range, filters []Filter, turn chan struct{}, use func(*analytics.Session) error) (notes []string, err error) {
	if needEvents(filters) {
		return x.eachRawSession(ctx, r, filters, turn, use)
	}
	all, err := conditions(filters)
	if err != nil {
		return nil, err
	}
	s, err := x.siteOf(ctx, r)
	if err != nil {
		return nil, err
	}
	if s.outlived(r) {
		if notes, err := x.eachRawSession(ctx, r, filters, turn, use); !errors.Is(err, ErrGone) {
			return notes, err
		}
	}
	ids, err := s.sessionIDs(r)
	if err != nil {
		return nil, err
	}
	for session, err := range ids.All(ctx, x.t) {
		if err != nil {
			return nil, fmt.Errorf("explore: sessions of %s: %w", r.Site, err)
		}
		if s.left.Add(-1) < 0 {
			return nil, fmt.Errorf("%w: there are more than %d sessions; request fewer days", ErrTooMuch, x.o.Events)
		}
		if selected(all, &session) {
			if err := use(&session); err != nil {
				return nil, err
			}
		}
	}
	return s.sessionNotes(r), nil
}

// eachRawSession is eachSession from raw events.
func (x *Explorer) eachRawSession(ctx context.Context, r Range, filters []Filter, turn chan struct{}, use func(*analytics.Session) error) (notes []string, err error) {
	s, err := x.scan(ctx, r, filters)
	if err != nil {
		return nil, err
	}
	s.turn = turn
	return append([]string{}, s.notes()...), s.eachRaw(ctx, func(_ string, all []*visit) error {
		var sessions []analytics.Session
		var of []analytics.Session
		for i, v := range all {
			if i == 0 || v.who != all[i-1].who {
				of = analytics.SessionsOf(v.who)
			}
			sessions = append(sessions, of[v.place])
		}
		slices.SortFunc(sessions, func(a, b analytics.Session) int { return cmp.Compare(a.SessionID, b.SessionID) })
		for i := range sessions {
			if err := use(&sessions[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// sessionNotes reports that sessions of a range have expired.
func (s *scan) sessionNotes(r Range) []string {
	kept := s.site.Retention.Of(analytics.Hour)
	if oldest := s.cal.Day(s.x.t.Now().Add(-kept)); r.From <= oldest {
		return []string{fmt.Sprintf("Sessions are kept for %d days. Sessions until %s have expired.", int(kept/(24*time.Hour)), oldest)}
	}
	return []string{}
}
