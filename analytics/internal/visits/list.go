package visits

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// List holds the visits of one visitor's day, ordered by their first event.
//
// The same events give the same list, in whatever order and groups they are added:
//   - Events without a client session ID that are less than Gap apart form one visit. A visit is thus
//     a union of time intervals, and unions can be taken in any order.
//   - Events with a client session ID form one visit for each ID.
//   - Each field of a visit is a sum, the smallest or largest event ID, or the smallest elements of a
//     set, so it can be merged in any order, too.
//   - Limits keep the smallest elements: the MaxOwn smallest session IDs have visits of their own,
//     all other IDs share one visit, and the MaxPages smallest pages of the day are listed.
type List []Visit

// What ends a visit, and the limits of a visitor's day.
const (
	Gap      = 30 * time.Minute
	MaxOwn   = 24        // visits of a day by client session ID; with the 48 that Gap allows, the largest day fits in an item
	OtherOwn = "(other)" // replaces the IDs beyond MaxOwn; clients cannot send it
	MaxPages = 100       // distinct pages listed in a visitor's day
)

// Add adds a visit of other events. The list may share memory with the visit afterwards.
func (vs *List) Add(v *Visit) {
	if !vs.join(v) {
		*vs = Union(*vs, List{*v})
	}
}

// join merges v into the visit that it belongs to, in place. It returns false, and changes nothing,
// if no visit touches v, or if several do, which v would connect.
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

// Union returns the visits of all events in a and b. Neither is modified.
func Union(a, b List) List {
	all := make(List, 0, len(a)+len(b))
	all = append(append(all, a...), b...)
	all.sort()
	all.collapseOwn()
	out := all[:0]
	last := -1 // last visit without a session ID: the only one that the next can touch
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

// collapseOwn replaces the session IDs beyond the MaxOwn smallest with OtherOwn.
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

// boundPages keeps the MaxPages smallest pages of all visits.
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
