package analytics

import (
	"time"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/exclude"
	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/table"
)

// SiteKey names a site.
type SiteKey struct {
	SiteID string `dynamodbav:"siteId"`
}

// Site is one tracked web site or app: its settings, and what its facts are stamped with.
type Site struct {
	SiteKey
	OwnerID   string         `dynamodbav:"ownerId,omitempty"`
	Domains   []string       `dynamodbav:"domains,omitempty"`
	TimeZone  string         `dynamodbav:"timeZone"` // IANA name: the site's hours, days and months are in it
	CreatedAt time.Time      `dynamodbav:"createdAt"`
	DeletedAt time.Time      `dynamodbav:"deletedAt,omitempty"` // since when it is being deleted; package erasure does that
	Sharding  table.Sharding `dynamodbav:"sharding"`            // number of event and visitor partitions, with its history
	Retention Retention      `dynamodbav:"retention"`           // how long each tier is kept
	Parts     int            `dynamodbav:"parts,omitempty"`     // over how many items the figures of an hour are spread; 0 is 1, see SetParts
	// Exclude is the traffic that is not counted. RespectDNT and RespectGPC turn events away whose sender asks not to be
	// tracked, by Do Not Track or by Global Privacy Control.
	Exclude    exclude.Rules `dynamodbav:"exclude"`
	RespectDNT bool          `dynamodbav:"respectDnt,omitempty"`
	RespectGPC bool          `dynamodbav:"respectGpc,omitempty"`
	// ImportKey makes the visitor ids of imported lines, so that a line has the same visitor whenever it is imported.
	// 32 random bytes made with the site and never shown.
	ImportKey []byte `dynamodbav:"importKey"`
	Settings
}

// OwnerKey names an owner of sites.
type OwnerKey struct {
	OwnerID string `dynamodbav:"ownerId"`
}

// Owner is somebody other than DefaultOwner who has, or had, a site.
type Owner struct {
	OwnerKey
}

// EventKey names an event. The shard is a function of the event's ID and of the site's number of shards at the time
// in the ID, so that one that is sent again is in the same partition.
type EventKey struct {
	SiteID  string
	Shard   int
	EventID string // ULID: the event's time, and what tells it from others of that millisecond
}

// Event is a fact: one page view or custom event. Events are stored in blocks. One carries all that its folds need (its visitor's key, the
// zone's offset at its time, what it counts by the site's settings), so that a fold reads nothing but the change. Only
// Goals, when a site's goals change, and Erased are ever changed.
type Event struct {
	EventKey
	VisitorID    string
	VisitorShard int
	Parts        int    // over how many items what is counted of it in an hour is spread; 0 is 1
	ZoneMinutes  int    // the site's offset from UTC at the event's time, in minutes
	Arrived      int64  // epoch seconds, when it came more than a day after its time
	Name         string // of a custom event; "" is a page view
	Path         string
	Host         string // that the page was on, in lower case and without www
	SessionID    string // only where the client sent one
	UserID       string // only where the client identified one
	referral.Source
	visits.Client
	Properties map[string]string
	Revenue    string // decimal, in the site's currency
	Engagement
	Vitals
	Counted []string           // names of Properties that are dimensions
	Goals   visits.Conversions // goals of the site that it reaches
	Erased  bool               // it is taken back, and about to be deleted

	// ExpiresAt is when the raw event may be deleted. It is decided at ingest; an event that is read has that of its block.
	ExpiresAt time.Time
}

// Engagement is what an event named EngagementEvent tells of the page that it left or of a part of its time.
type Engagement struct {
	EngagedMS int64 `json:"engagedMs,omitempty"` // in front of the visitor, since the page's last such event
	Scroll    int   `json:"scroll,omitempty"`    // how far down the page was seen so far, 0 to 100
}

// Vitals are what an event named VitalsEvent tells of how its page loaded. Zero: not measured, or nothing to measure; but
// a page that never shifted has a layout shift of 0, which is measured and good.
type Vitals struct {
	LCP float64  `json:"lcp,omitempty"` // largest contentful paint, milliseconds
	INP float64  `json:"inp,omitempty"` // interaction to next paint, milliseconds
	CLS *float64 `json:"cls,omitempty"` // cumulative layout shift, a number without unit; nil: not measured
}

// Shift is the cumulative layout shift; 0, too, where it was not measured.
func (v *Vitals) Shift() float64 {
	if v.CLS == nil {
		return 0
	}
	return *v.CLS
}

// The names of events that are no deeds of the visitor's, but measurements of the page.
const (
	EngagementEvent = "engagement"
	VitalsEvent     = "vitals"
)

// VisitorKey names one visitor's day. Day is the site's, YYYY-MM-DD.
type VisitorKey struct {
	SiteID    string `dynamodbav:"siteId"`
	Shard     int    `dynamodbav:"shard"`
	VisitorID string `dynamodbav:"visitorId"`
	Day       string `dynamodbav:"day"`
}

// Visitor is one visitor's day: the visits that its events make, as a union of intervals. The union does not depend
// on the order of the events, so late and repeated ones change nothing that they should not.
type Visitor struct {
	VisitorKey
	Visits    visits.List   `dynamodbav:"visits"`              // by start
	Scrolls   visits.Depths `dynamodbav:"scrolls,omitempty"`   // how deep pages were seen, at most
	Parts     int           `dynamodbav:"parts,omitempty"`     // the most that one of its events says
	EngagedAt int64         `dynamodbav:"engagedAt,omitempty"` // epoch seconds of the last EngagementEvent that came in time
	Kept
}

// Kept bounds when the facts behind a derived item arrived: by it the item's own expiry is computed, and rebuilding it
// is refused once the first of its facts may be gone. Merging takes the least and the greatest.
type Kept struct {
	Since int64 `dynamodbav:"since,omitempty"` // epoch seconds of the first to arrive
	Until int64 `dynamodbav:"until,omitempty"` // epoch seconds of the last to arrive

	// ExpiresAt is when the item may be deleted; zero: never. It is computed from Until before every write, stored as
	// ttl, and not read back.
	ExpiresAt time.Time `dynamodbav:"-"`
}

// SessionKey names a session.
type SessionKey struct {
	SiteID    string `dynamodbav:"siteId"`
	SessionID string `dynamodbav:"sessionId"` // ULID of (start, hash of site, visitor, start)
}

// Session is a visit as people list and open it. It mirrors one visit of its visitor's day.
type Session struct {
	SessionKey
	VisitorID    string `dynamodbav:"visitor"`
	VisitorShard int    `dynamodbav:"vshard,omitempty"`
	Day          string `dynamodbav:"day"`
	UserID       string `dynamodbav:"userId,omitempty"`
	Start        int64  `dynamodbav:"start"` // epoch milliseconds
	End          int64  `dynamodbav:"end"`
	EntryPath    string `dynamodbav:"entry,omitempty"`
	ExitPath     string `dynamodbav:"exit,omitempty"`
	PageViews    int64  `dynamodbav:"views"`
	Events       int64  `dynamodbav:"events,omitempty"`
	Conversions  int64  `dynamodbav:"conversions,omitempty"` // of all goals
	Revenue      string `dynamodbav:"revenue,omitempty"`
	referral.Source
	visits.Client
	Kept
	Gone bool `dynamodbav:"gone,omitempty"` // merged away: the fold removes the item
}

// SaltKey names the salt of a site's day, YYYY-MM-DD.
type SaltKey struct {
	SiteID string `dynamodbav:"siteId"`
	Day    string `dynamodbav:"day"`
}

// Salt is the secret of which a day's visitor ids are made. When it is deleted nobody can tell any more to which
// address an id belongs, or which ids of two days are the same person.
type Salt struct {
	SaltKey
	Value     []byte    `dynamodbav:"value"` // 32 random bytes
	ExpiresAt time.Time `dynamodbav:"-"`     // stored as ttl
}
