package analytics

import (
	"encoding/binary"
	"time"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/varint"
)

// VisitsKey names a page of a day's visits. Day is in the site's zone, YYYY-MM-DD.
type VisitsKey struct {
	SiteID string `dynamodbav:"siteId"`
	Shard  int    `dynamodbav:"shard"` // shard of visitors
	Day    string `dynamodbav:"day"`
	Page   int    `dynamodbav:"page"`
}

// VisitPage holds the visitors' days that one flush changed, with their states before and after.
// The pages of a day and shard are a log: see fold.StateLog.
type VisitPage struct {
	VisitsKey
	fold.Page
	First  int64 `dynamodbav:"first,omitempty"`  // earliest start of a session that the page changes, epoch milliseconds; 0: none
	Last   int64 `dynamodbav:"last,omitempty"`   // latest start
	Before int64 `dynamodbav:"before,omitempty"` // greatest Last of the earlier pages

	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// startedBefore returns the latest start, epoch milliseconds, changed by this or an earlier page.
func (p *VisitPage) startedBefore() int64 { return max(p.Before, p.Last) }

// VisitLog stores the visitors' days.
var VisitLog = fold.NewStateLog(Visitors, VisitPages, fold.LogDef[Visitor, VisitPage]{
	Open: openVisitPage, Note: (*VisitPage).note, Append: appendVisitor, Read: readVisitor, StateBytes: 2_000,
})

func openVisitPage(v *Visitor, number int, last *VisitPage) VisitPage {
	p := VisitPage{VisitsKey: VisitsKey{v.SiteID, v.Shard, v.Day, number}}
	if last != nil { // pages expire in order, so that no number is reused while a later page exists
		p.Before, p.ExpiresAt = last.startedBefore(), last.ExpiresAt
	}
	return p
}

// note records a change of a visitor's day.
func (p *VisitPage) note(before, after *Visitor) {
	eachSessionChange(before, after, func(_, s *Session) {
		if p.First == 0 || s.Start < p.First {
			p.First = s.Start
		}
		p.Last = max(p.Last, s.Start)
	})
	if after != nil && after.ExpiresAt.After(p.ExpiresAt) {
		p.ExpiresAt = after.ExpiresAt
	}
}

// eachSessionChange calls each for the sessions that a change of a visitor's day creates, changes or
// removes. was is nil for a new session; is.Gone marks a removed one. A nil visitor has none.
func eachSessionChange(before, after *Visitor, each func(was, is *Session)) {
	olds, news := sessionsOf(before), sessionsOf(after)
	for i := range news {
		if old := findSession(olds, news[i].SessionKey); old == nil || *old != news[i] {
			each(old, &news[i])
		}
	}
	for i := range olds {
		if findSession(news, olds[i].SessionKey) == nil {
			each(&olds[i], &Session{SessionKey: olds[i].SessionKey, Start: olds[i].Start, Gone: true})
		}
	}
}

// visitorFormat is the first byte of an encoded visitor's day.
const visitorFormat = 2

// appendVisitor appends the encoding of a visitor's day (docs/format/analytics.md):
//
//	format 1 | engaged at | first arrival | last arrival | scroll depths | visits
//
// The numbers are signed varints. The visits come last, because their encoding has a version of its
// own and reaches to the end. The key is not part of it: the page of the log has it.
func appendVisitor(buf []byte, v *Visitor) []byte {
	buf = append(buf, visitorFormat)
	buf = binary.AppendVarint(buf, v.EngagedAt)
	buf = binary.AppendVarint(buf, v.Since)
	buf = binary.AppendVarint(buf, v.Until)
	buf = v.Scrolls.Append(buf)
	return v.Visits.Append(buf)
}

// readVisitor decodes what appendVisitor encoded. Errors: visits.ErrMalformed.
func readVisitor(b []byte, v *Visitor) error {
	if len(b) == 0 || b[0] != visitorFormat {
		return visits.ErrMalformed
	}
	r := varint.NewReader(b[1:])
	v.EngagedAt, v.Since, v.Until = r.Int(), r.Int(), r.Int()
	v.Scrolls = visits.ReadDepths(&r)
	rest := r.Rest()
	if r.Failed() {
		return visits.ErrMalformed
	}
	return v.Visits.Read(rest)
}
