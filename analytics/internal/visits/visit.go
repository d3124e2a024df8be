// Package visits joins a visitor's events of a day into visits (sessions). Visits depend only on
// the set of events: late, repeated and regrouped events yield the same visits, and the same bytes
// of their compact encoding.
package visits

import (
	"cmp"
	"slices"

	"github.com/onefold/onefold/analytics/internal/dimension"
	"github.com/onefold/onefold/internal/decimal"
)

// Visit is one visit (session): events of a visitor less than Gap apart. Its traits are
// those of its first event.
type Visit struct {
	Start   int64       `dynamodbav:"start"`         // time of its first event, epoch milliseconds
	End     int64       `dynamodbav:"end"`           // time of its last event, epoch milliseconds
	FirstID string      `dynamodbav:"first"`         // ID of its first event: the earliest, ties by ID
	Own     string      `dynamodbav:"own,omitempty"` // session ID sent by the client
	Entry   Landing     `dynamodbav:"entry"`
	Exit    Landing     `dynamodbav:"exit"`
	Events  int64       `dynamodbav:"events,omitempty"` // custom events
	Hours   []Hour      `dynamodbav:"hours"`            // page views by hour
	Pages   []string    `dynamodbav:"pages,omitempty"`  // distinct paths, sorted, of the day's first MaxPages
	Revenue string      `dynamodbav:"revenue,omitempty"`
	UserID  string      `dynamodbav:"user,omitempty"`
	UserAt  string      `dynamodbav:"userAt,omitempty"` // ID of the last event with a user ID, which UserID is from
	Host    string      `dynamodbav:"host,omitempty"`   // host of its first event's page
	Goals   Conversions `dynamodbav:"goals,omitempty"`
	dimension.Traits
}

// Landing is the first or last page view of a visit, empty if the visit has none.
type Landing struct {
	Path string `dynamodbav:"path,omitempty"`
	ID   string `dynamodbav:"id,omitempty"` // event ID
}

// Hour holds a visit's page views in one hour of the site.
type Hour struct {
	Hour  int64 `dynamodbav:"h"` // start of the hour, epoch seconds
	Views int64 `dynamodbav:"v,omitempty"`
}

// touches reports whether two visits are parts of one.
func (v *Visit) touches(o *Visit) bool {
	if v.Own != o.Own {
		return false
	}
	gap := Gap.Milliseconds()
	return v.Own != "" || o.Start-v.End < gap && v.Start-o.End < gap
}

// merge adds the events of another visit. It does not modify the lists of either, which may be
// shared.
func (v *Visit) merge(o *Visit) {
	if o.FirstID < v.FirstID {
		v.Start, v.FirstID, v.Traits, v.Host = o.Start, o.FirstID, o.Traits, o.Host
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
	v.Goals = v.Goals.Plus(o.Goals)
}

func mergeHours(a, b []Hour) []Hour {
	out := make([]Hour, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := cmp.Compare(a[0].Hour, b[0].Hour); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, Hour{a[0].Hour, a[0].Views + b[0].Views})
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

// Views returns the visit's page views.
func (v *Visit) Views() (n int64) {
	for _, h := range v.Hours {
		n += h.Views
	}
	return n
}

// Bounced reports whether the visitor viewed one page and did nothing else.
func (v *Visit) Bounced() bool { return v.Events == 0 && v.Views() == 1 }

// Seconds returns the time from the visit's first event to its last.
func (v *Visit) Seconds() int64 { return (v.End - v.Start) / 1000 }

// StartHour returns the hour of the visit's first event, in epoch seconds.
func (v *Visit) StartHour() int64 { return v.Hours[0].Hour }
