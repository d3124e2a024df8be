package analytics

import (
	"time"

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
	Sharding  table.Sharding `dynamodbav:"sharding"`  // number of event and visitor partitions, with its history
	Retention Retention      `dynamodbav:"retention"` // how long each tier is kept
	// ImportKey makes the visitor ids of imported lines, so that a line has the same visitor whenever it is imported.
	// 32 random bytes made with the site and never shown.
	ImportKey []byte `dynamodbav:"importKey"`
}

// EventKey names an event. The shard is a function of the event's id and of the site's number of shards at the time
// in the id, so that a retry finds the same key.
type EventKey struct {
	SiteID  string `dynamodbav:"siteId"`
	Shard   int    `dynamodbav:"shard"`
	EventID string `dynamodbav:"eventId"` // ULID: the event's time, and what tells it from others of that millisecond
}

// Event is a fact: one page view or custom event, stored once and never changed. It carries all that its folds need
// (its visitor's key, the zone's offset at its time), so that a fold reads nothing but the change.
type Event struct {
	EventKey
	VisitorID    string `dynamodbav:"visitor"`
	VisitorShard int    `dynamodbav:"vshard,omitempty"`
	ZoneMinutes  int    `dynamodbav:"zone,omitempty"`    // the site's offset from UTC at the event's time, in minutes
	Arrived      int64  `dynamodbav:"arrived,omitempty"` // epoch seconds, when it came more than a day after its time
	Name         string `dynamodbav:"name,omitempty"`    // of a custom event; "" is a page view
	Path         string `dynamodbav:"path,omitempty"`
	SessionID    string `dynamodbav:"session,omitempty"` // only where the client sent one
	UserID       string `dynamodbav:"user,omitempty"`    // only where the client identified one
	referral.Source
	Client
	Properties map[string]string `dynamodbav:"props,omitempty"`
	Revenue    string            `dynamodbav:"revenue,omitempty"` // decimal, in the site's currency

	// ExpiresAt is when the raw event may be deleted. It is decided at ingest and stored as ttl.
	ExpiresAt time.Time `dynamodbav:"-"`
}

// Client says with what, and from where, a visitor came.
type Client struct {
	Country  string `dynamodbav:"country,omitempty"` // ISO 3166-1 alpha-2
	Region   string `dynamodbav:"region,omitempty"`
	City     string `dynamodbav:"city,omitempty"`
	Browser  string `dynamodbav:"browser,omitempty"`
	OS       string `dynamodbav:"os,omitempty"`
	Device   string `dynamodbav:"device,omitempty"`
	Screen   string `dynamodbav:"screen,omitempty"`
	Language string `dynamodbav:"lang,omitempty"`
}

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
	Visits Visits `dynamodbav:"visits"` // by start
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

// Visit is one visit (session): events of a visitor with less than the session gap between each and the next.
type Visit struct {
	Start   int64         `dynamodbav:"start"`         // epoch milliseconds of its first event
	End     int64         `dynamodbav:"end"`           // epoch milliseconds of its last event
	FirstID string        `dynamodbav:"first"`         // id of its first event: the earliest, ties by id
	Own     string        `dynamodbav:"own,omitempty"` // session id that the client sent
	Entry   Landing       `dynamodbav:"entry"`
	Exit    Landing       `dynamodbav:"exit"`
	Events  int64         `dynamodbav:"events,omitempty"` // custom events
	Hours   []HourOfVisit `dynamodbav:"hours"`            // by hour: page views are counted where they happened
	Pages   []string      `dynamodbav:"pages,omitempty"`  // distinct paths, sorted, of the first maxPagesOfDay of the visitor's day
	Revenue string        `dynamodbav:"revenue,omitempty"`
	UserID  string        `dynamodbav:"user,omitempty"`
	UserAt  string        `dynamodbav:"userAt,omitempty"` // id of the event that UserID is from: the last that has one
	referral.Source
	Client
}

// Landing is the first or last page view of a visit. Empty when the visit has none.
type Landing struct {
	Path string `dynamodbav:"path,omitempty"`
	ID   string `dynamodbav:"id,omitempty"` // of the event
}

// HourOfVisit counts a visit's page views in one hour of the site.
type HourOfVisit struct {
	Hour  int64 `dynamodbav:"h"` // epoch seconds of the hour's start
	Views int64 `dynamodbav:"v,omitempty"`
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
	Revenue      string `dynamodbav:"revenue,omitempty"`
	referral.Source
	Client
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

// GoalKey names a goal of a site.
type GoalKey struct {
	SiteID string `dynamodbav:"siteId"`
	GoalID string `dynamodbav:"goalId"`
}

// Goal is what a site wants its visitors to do: see a page or send a custom event. Exactly one of Path and Event is set.
type Goal struct {
	GoalKey
	Name  string `dynamodbav:"name"`
	Path  string `dynamodbav:"path,omitempty"`  // of a page view; a trailing * matches any rest
	Event string `dynamodbav:"event,omitempty"` // name of a custom event
}
