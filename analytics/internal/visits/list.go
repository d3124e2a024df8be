package visits

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// List are the visits of one visitor's day, ordered by their first event.
//
// They are a function of the set of events alone. Events without a session id of the client's are points in time whose
// visits are the union of the intervals that reach to the next point when it is nearer than Gap: a union of unions is
// the union of all, so neither order nor grouping matters. Events with a session id are one visit per id, which needs no
// order either. What a visit says of itself is a sum, a least or greatest event id, or the least few of a set, and so is
// every bound: of the client's ids the least MaxOwn have a visit of their own and all others share one; of the day's
// pages the least MaxPages are listed.
type List []Visit

// What ends a visit, and the bounds of a visitor's day.
const (
	Gap      = 30 * time.Minute
	MaxOwn   = 24        // visits of a day by session ids of the client; with the 48 that Gap allows, the largest day fits in an item
	OtherOwn = "(other)" // stands for the ids beyond them: no client can send it
	MaxPages = 100       // distinct pages of a visitor's day that its visits list
)

// Add puts a visit of other events into the list. What the visit holds may be shared with it afterwards.
func (vs *List) Add(v *Visit) {
	if !vs.join(v) {
		*vs = Union(*vs, List{*v})
	}
}

// join puts a visit into the one that it belongs to, in place. It does nothing and says false when there is none, or
// when there are two, which it makes one.
func (vs List) join(v *Visit) bool {
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

// Union is the visits of all events of both. Neither is changed.
func Union(a, b List) List {
	all := make(List, 0, len(a)+len(b))
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

func (vs List) sort() {
	slices.SortFunc(vs, func(a, b Visit) int { return cmp.Compare(a.FirstID, b.FirstID) })
}

// collapseOwn gives the client's session ids beyond the least MaxOwn the one name that they share.
func (vs List) collapseOwn() {
	owns := make([]string, 0, 8)
	for i := range vs {
		if own := vs[i].Own; own != "" && own != OtherOwn {
			owns = append(owns, own)
		}
	}
	if len(owns) <= MaxOwn {
		return
	}
	slices.Sort(owns)
	owns = slices.Compact(owns)
	if len(owns) <= MaxOwn {
		return
	}
	last := owns[MaxOwn-1]
	for i := range vs {
		if own := vs[i].Own; own != OtherOwn && own > last {
			vs[i].Own = OtherOwn
		}
	}
}

// boundPages keeps the least MaxPages of all visits' pages.
func (vs List) boundPages() {
	total := 0
	for i := range vs {
		total += len(vs[i].Pages)
	}
	if total <= MaxPages {
		return
	}
	all := make([]string, 0, total)
	for i := range vs {
		all = append(all, vs[i].Pages...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) <= MaxPages {
		return
	}
	last := all[MaxPages-1]
	for i := range vs {
		p := vs[i].Pages
		n := sort.Search(len(p), func(i int) bool { return p[i] > last })
		vs[i].Pages = p[:n:n]
	}
}
