package analytics

import (
	"time"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/exclude"
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/table"
)

// SiteKey names a site.
type SiteKey struct {
	SiteID string `dynamodbav:"siteId"`
}

// Site is a tracked web site or app: its settings, and what its facts are stamped with.
type Site struct {
	SiteKey
	OwnerID   string         `dynamodbav:"ownerId,omitempty"`
	Domains   []string       `dynamodbav:"domains,omitempty"`
	TimeZone  string         `dynamodbav:"timeZone"` // IANA name; defines the site's hours, days and months
	CreatedAt time.Time      `dynamodbav:"createdAt"`
	DeletedAt time.Time      `dynamodbav:"deletedAt,omitempty"` // set while package erasure is deleting the site
	Sharding  table.Sharding `dynamodbav:"sharding"`            // partitions for events and visitors, with history
	Retention Retention      `dynamodbav:"retention"`           // how long each tier is kept
	// PastRetentions are those before Retention, oldest first.
	PastRetentions []PastRetention `dynamodbav:"pastRetentions,omitempty"`
	// Exclude is the traffic that is not counted. RespectDNT and RespectGPC reject events whose
	// sender has Do Not Track or Global Privacy Control enabled.
	Exclude    exclude.Rules `dynamodbav:"exclude"`
	RespectDNT bool          `dynamodbav:"respectDnt,omitempty"`
	RespectGPC bool          `dynamodbav:"respectGpc,omitempty"`
	// KeepDataCenters counts visitors whose address is in a network of data centers: programs, but
	// also people who use a VPN.
	KeepDataCenters bool `dynamodbav:"keepDataCenters,omitempty"`
	// Mask is the personal data that is replaced before an event is stored. Exclude sees paths as
	// they were sent; everything else, such as goals and filters, sees masked ones.
	Mask mask.Rules `dynamodbav:"mask"`
	// ImportKey derives the visitor IDs of imported lines, so that repeated imports of a line yield
	// the same visitor. It is 32 random bytes, created with the site and never shown.
	ImportKey []byte `dynamodbav:"importKey"`
	Settings
}

// OwnerKey names an owner of sites.
type OwnerKey struct {
	OwnerID string `dynamodbav:"ownerId"`
}

// Owner is an owner, other than DefaultOwner, who has or had a site.
type Owner struct {
	OwnerKey
}

// EventKey names an event. The shard is a function of the event's visitor and of the site's shard
// count at the time in the ID, so a resent event goes to the same partition unless its visitor has
// changed the network: see Hit.Resent.
type EventKey struct {
	SiteID  string
	Shard   int
	EventID string // ULID: the event's time and a unique part
}

// Event is a fact: one page view or custom event, stored in a block. It carries everything that its
// folds need (visitor key, zone offset, goals by the site's settings), so that a fold reads only
// the change. After ingest only Goals (when goals change) and Erased are modified.
type Event struct {
	EventKey
	VisitorID    string
	VisitorShard int
	ZoneMinutes  int    // site's UTC offset at the event's time, minutes
	Arrived      int64  // epoch seconds, if it arrived more than a day late
	Name         string // of a custom event; "" is a page view
	Path         string
	Host         string // page's host, lower case, without www
	SessionID    string // only if the client sent one
	UserID       string // only if the client identified one
	Traits
	Properties map[string]string
	Revenue    string  // decimal, in the site's currency
	Paid       Payment // what Revenue was converted from
	Engagement
	Vitals
	Counted []string           // names of Properties that are dimensions
	Goals   visits.Conversions // goals of the site that it reaches
	Erased  bool               // retracted, about to be deleted

	// ExpiresAt is when the raw event may be deleted: set at ingest; when read, its block's.
	ExpiresAt time.Time
}

// Payment is revenue in another currency than the site's. The zero value is none.
type Payment struct {
	Amount   string // decimal
	Currency string // ISO 4217
	// Unconverted is set if no exchange rate was known. The event's Revenue is then empty.
	Unconverted bool
}

// Engagement is what an EngagementEvent reports about a page while it is open or left.
type Engagement struct {
	EngagedMS int64 `json:"engagedMs,omitempty"` // time in front of the visitor since the page's previous such event
	Scroll    int   `json:"scroll,omitempty"`    // maximum scroll depth of the page so far, 0 to 100 percent
}

// Vitals are the page-load measurements of a VitalsEvent. Zero means not measured. CLS is a pointer
// because 0 is a real and good measurement of it.
type Vitals struct {
	LCP float64  `json:"lcp,omitempty"` // largest contentful paint, milliseconds
	INP float64  `json:"inp,omitempty"` // interaction to next paint, milliseconds
	CLS *float64 `json:"cls,omitempty"` // cumulative layout shift, unitless; nil: not measured
}

// Shift returns the cumulative layout shift, or 0 if it was not measured.
func (v *Vitals) Shift() float64 {
	if v.CLS == nil {
		return 0
	}
	return *v.CLS
}

// Names of events that measure the page rather than record an action of the visitor.
const (
	EngagementEvent = "engagement"
	VitalsEvent     = "vitals"
)

// VisitorKey names one visitor's day. Day is in the site's zone, YYYY-MM-DD.
type VisitorKey struct {
	SiteID    string `dynamodbav:"siteId"`
	Shard     int    `dynamodbav:"shard"`
	VisitorID string `dynamodbav:"visitorId"`
	Day       string `dynamodbav:"day"`
}

// Visitor is one visitor's day: its visits, as a union of intervals. The union does not depend on
// the order of events, so late events are handled correctly and repeated ones have no effect.
type Visitor struct {
	VisitorKey
	Visits    visits.List   `dynamodbav:"visits"`              // ordered by start
	Scrolls   visits.Depths `dynamodbav:"scrolls,omitempty"`   // maximum scroll depth of each page
	EngagedAt int64         `dynamodbav:"engagedAt,omitempty"` // epoch seconds of the last EngagementEvent that was in time
	Arrivals
}

// Arrivals is the range of arrival times of the facts behind a derived item. It determines the expiry;
// rebuilding is rejected once the first of these facts may have expired. Merging widens the range.
type Arrivals struct {
	Since int64 `dynamodbav:"since,omitempty"` // epoch seconds of the first arrival
	Until int64 `dynamodbav:"until,omitempty"` // epoch seconds of the last arrival

	// ExpiresAt is when the item may be deleted; zero: never. It is computed from Until before
	// every write, stored as ttl, and not read back.
	ExpiresAt time.Time `dynamodbav:"-"`
}

// SessionKey names a session.
type SessionKey struct {
	SiteID    string `dynamodbav:"siteId"`
	SessionID string `dynamodbav:"sessionId"` // ULID of start and hash(site, visitor, start)
}

// Session is a visit as people list and open it. It mirrors one visit of a visitor's day.
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
	Traits
	Arrivals
	Gone bool `dynamodbav:"gone,omitempty"` // merged into another: the fold removes the item
}

// SaltKey names the salt of a site's day, YYYY-MM-DD.
type SaltKey struct {
	SiteID string `dynamodbav:"siteId"`
	Day    string `dynamodbav:"day"`
}

// Salt is the secret from which a day's visitor IDs are computed. Once it is deleted, nobody can
// find the address behind an ID or link IDs of two days.
type Salt struct {
	SaltKey
	Value     []byte    `dynamodbav:"value"` // 32 random bytes
	ExpiresAt time.Time `dynamodbav:"-"`     // stored as ttl
}
