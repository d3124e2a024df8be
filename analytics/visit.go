package analytics

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
)

// Visits are the visits of one visitor's day, ordered by their first event.
//
// They are a function of the set of events alone. Events without a session id of the client's are points in time whose
// visits are the union of the intervals that reach to the next point when it is nearer than sessionGap: a union of
// unions is the union of all, so neither order nor grouping matters. Events with a session id are one visit per id,
// which needs no order either. What a visit says of itself is a sum, a least or greatest event id, or the least few of
// a set, and so is every bound: of the client's ids the least maxOwnVisits have a visit of their own and all others
// share one; of the day's pages the least maxPagesOfDay are listed.
type Visits []Visit

const (
	sessionGap    = 30 * time.Minute
	maxOwnVisits  = 48        // visits of a day by session ids of the client
	otherOwn      = "(other)" // stands for the ids beyond them: no client can send it
	maxPagesOfDay = 100       // distinct pages of a visitor's day that its visits list
)

// merge puts all events of another part of the same visitor's day into it.
func (v *Visitor) merge(o *Visitor) {
	v.Visits = union(v.Visits, o.Visits)
	v.Kept.merge(o.Kept)
}

// visitOf is the visit that a single event makes.
func visitOf(e *Event) (Visit, error) {
	at, err := eventMS(e.EventID)
	if err != nil {
		return Visit{}, err
	}
	v := Visit{
		Start: at, End: at, FirstID: e.EventID, Own: e.SessionID,
		Hours:  []HourOfVisit{{Hour: calendar.HourOf(at, e.ZoneMinutes)}},
		Source: e.Source, Client: e.Client,
	}
	if v.Revenue, err = decimal.Parse(e.Revenue); err != nil {
		return Visit{}, fmt.Errorf("analytics: revenue of event %s: %w", e.EventID, err)
	}
	if e.UserID != "" {
		v.UserID, v.UserAt = e.UserID, e.EventID
	}
	if e.Name != "" {
		v.Events = 1
		return v, nil
	}
	v.Hours[0].Views = 1
	v.Entry = Landing{e.Path, e.EventID}
	v.Exit = v.Entry
	if e.Path != "" {
		v.Pages = []string{e.Path}
	}
	return v, nil
}

// eventMS is the time in an event's id, in epoch milliseconds.
func eventMS(id string) (int64, error) {
	u, err := ulid.ParseStrict(id)
	if err != nil {
		return 0, fmt.Errorf("analytics: event id %q: %w", id, err)
	}
	return int64(u.Time()), nil
}

// arrivalOf is when an event arrived, in epoch seconds. One that came within a day of its time, at says when, counts
// as having come at once.
func arrivalOf(e *Event, at int64) int64 { return cmp.Or(e.Arrived, at/1000) }

// join puts a visit into the one that it belongs to, in place. It does nothing and says false when there is none, or
// when there are two, which it makes one.
func (vs Visits) join(v *Visit) bool {
	at := -1
	for i := range vs {
		if !vs[i].touches(v) {
			continue
		}
		if at >= 0 {
			return false
		}
		at = i
	}
	if at < 0 {
		return false
	}
	earlier := v.FirstID < vs[at].FirstID
	pages := len(vs[at].Pages)
	vs[at].merge(v)
	if earlier {
		vs.sort()
	}
	if len(vs[at].Pages) > pages {
		vs.boundPages()
	}
	return true
}

// touches reports whether two visits are one.
func (v *Visit) touches(o *Visit) bool {
	if v.Own != o.Own {
		return false
	}
	gap := sessionGap.Milliseconds()
	return v.Own != "" || o.Start-v.End < gap && v.Start-o.End < gap
}

// union is the visits of all events of both. Neither is changed.
func union(a, b Visits) Visits {
	all := make(Visits, 0, len(a)+len(b))
	all = append(append(all, a...), b...)
	all.sort()
	all.collapseOwn()
	out := all[:0]
	last := -1 // the last visit without an id of the client's: the only one that the next may touch
	for i := range all {
		v := all[i]
		at := last
		if v.Own != "" {
			at = slices.IndexFunc(out, func(o Visit) bool { return o.Own == v.Own })
		} else if last >= 0 && !out[last].touches(&v) {
			at = -1
		}
		if at >= 0 {
			out[at].merge(&v)
			continue
		}
		if v.Own == "" {
			last = len(out)
		}
		out = append(out, v)
	}
	clear(all[len(out):])
	out.boundPages()
	return out
}

func (vs Visits) sort() {
	slices.SortFunc(vs, func(a, b Visit) int { return cmp.Compare(a.FirstID, b.FirstID) })
}

// collapseOwn gives the client's session ids beyond the least maxOwnVisits the one name that they share.
func (vs Visits) collapseOwn() {
	owns := make([]string, 0, 8)
	for i := range vs {
		if own := vs[i].Own; own != "" && own != otherOwn {
			owns = append(owns, own)
		}
	}
	if len(owns) <= maxOwnVisits {
		return
	}
	slices.Sort(owns)
	owns = slices.Compact(owns)
	if len(owns) <= maxOwnVisits {
		return
	}
	last := owns[maxOwnVisits-1]
	for i := range vs {
		if own := vs[i].Own; own != otherOwn && own > last {
			vs[i].Own = otherOwn
		}
	}
}

// boundPages keeps the least maxPagesOfDay of all visits' pages.
func (vs Visits) boundPages() {
	total := 0
	for i := range vs {
		total += len(vs[i].Pages)
	}
	if total <= maxPagesOfDay {
		return
	}
	all := make([]string, 0, total)
	for i := range vs {
		all = append(all, vs[i].Pages...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) <= maxPagesOfDay {
		return
	}
	last := all[maxPagesOfDay-1]
	for i := range vs {
		p := vs[i].Pages
		n := sort.Search(len(p), func(i int) bool { return p[i] > last })
		vs[i].Pages = p[:n:n]
	}
}

// merge puts the events of another visit into this one. What the lists of both hold is not changed: they may be shared.
func (v *Visit) merge(o *Visit) {
	if o.FirstID < v.FirstID {
		v.Start, v.FirstID, v.Source, v.Client = o.Start, o.FirstID, o.Source, o.Client
	}
	v.End = max(v.End, o.End)
	if o.Entry.ID != "" && (v.Entry.ID == "" || o.Entry.ID < v.Entry.ID) {
		v.Entry = o.Entry
	}
	if o.Exit.ID > v.Exit.ID {
		v.Exit = o.Exit
	}
	if o.UserAt > v.UserAt {
		v.UserID, v.UserAt = o.UserID, o.UserAt
	}
	v.Events += o.Events
	v.Revenue = decimal.Add(v.Revenue, o.Revenue)
	v.Hours = mergeHours(v.Hours, o.Hours)
	v.Pages = mergePages(v.Pages, o.Pages)
}

func mergeHours(a, b []HourOfVisit) []HourOfVisit {
	out := make([]HourOfVisit, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := cmp.Compare(a[0].Hour, b[0].Hour); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, HourOfVisit{a[0].Hour, a[0].Views + b[0].Views})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

func mergePages(a, b []string) []string {
	fresh := 0
	for _, p := range b {
		if _, found := slices.BinarySearch(a, p); !found {
			fresh++
		}
	}
	if fresh == 0 {
		return a
	}
	out := make([]string, 0, len(a)+fresh)
	for len(a) > 0 && len(b) > 0 {
		c := cmp.Compare(a[0], b[0])
		if c <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out = append(out, b[0])
		}
		if c >= 0 {
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// views are the visit's page views.
func (v *Visit) views() (n int64) {
	for _, h := range v.Hours {
		n += h.Views
	}
	return n
}

// bounced reports whether the visitor saw one page and did nothing else.
func (v *Visit) bounced() bool { return v.Events == 0 && v.views() == 1 }

// lateUntil is the arrival of the last fact that came more than a day after its time, in epoch seconds; 0: all were in
// time, for these count as having come at once, none after the day's last event.
func (v *Visitor) lateUntil() int64 {
	last := int64(0)
	for i := range v.Visits {
		last = max(last, v.Visits[i].End/1000)
	}
	if v.Until <= last {
		return 0
	}
	return v.Until
}

// seconds is how long the visit took, from its first event to its last.
func (v *Visit) seconds() int64 { return (v.End - v.Start) / 1000 }

// startHour is the hour in which the visit started, in epoch seconds: that of its first event.
func (v *Visit) startHour() int64 { return v.Hours[0].Hour }

// note counts the arrival of a fact, in epoch seconds.
func (k *Kept) note(at int64) {
	if k.Since == 0 || at < k.Since {
		k.Since = at
	}
	k.Until = max(k.Until, at)
}

// merge counts the arrivals that another has counted.
func (k *Kept) merge(o Kept) {
	if o.Until == 0 {
		return
	}
	k.note(o.Since)
	k.note(o.Until)
}
