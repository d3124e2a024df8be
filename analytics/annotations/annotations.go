// Package annotations keeps short notes about moments of a site, such as a release or the start of a
// campaign, which charts show.
package annotations

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// ErrAnnotation is returned for an invalid annotation. The message says what to change.
var ErrAnnotation = errors.New("annotations: annotation")

// Limits of annotations.
const (
	MaxText   = 200  // characters
	MaxURL    = 1000 // bytes
	MaxPerDay = 50   // per site and day of UTC
	maxAhead  = 366 * 24 * time.Hour
)

// Key names an annotation of a site.
type Key struct {
	SiteID       string `dynamodbav:"siteId"`
	AnnotationID string `dynamodbav:"annotationId"` // ULID: the time of the annotation, then a hash of its content
}

// Annotation is a note about a moment.
type Annotation struct {
	Key
	At     time.Time `dynamodbav:"at"` // to the millisecond
	Text   string    `dynamodbav:"text"`
	URL    string    `dynamodbav:"url,omitempty"`    // of a page with more about it
	Author string    `dynamodbav:"author,omitempty"` // actor, as in the audit log
}

// Annotations holds the annotations of sites.
var Annotations = table.Define[Annotation, Key]("analytics.annotation", table.Def[Annotation]{
	PK: "SITE#{siteId}", SK: "ANNOTATION#{annotationId}",
	Doc: "A note about a moment of a site, which charts show.",
})

// In selects annotations with IDs in [From, To).
type In struct {
	SiteID string `dynamodbav:"siteId"`
	From   string `dynamodbav:"from"`
	To     string `dynamodbav:"to"`
}

// ByTime queries the annotations of a site, oldest first.
var ByTime = table.NewQuery(Annotations, table.QueryDef[In]{
	ID: "W23", Question: "the annotations of a site in a range of time",
	From: "ANNOTATION#{from}", To: "ANNOTATION#{to}",
	Load: table.Load{PerSecond: 0.1, Items: 5, ItemBytes: 200},
})

// Schema holds the entities of this package.
var Schema = table.MustSchema("annotations", Annotations, ByTime)

// Add stores an annotation, and reports whether it is new. Its ID follows from its time and content, so
// that a repeated call with the same time changes nothing and returns the first one. Calls at the same
// time may add a few more than MaxPerDay. Errors: ErrAnnotation, table.ErrNotFound for an unknown site.
func Add(ctx context.Context, t *table.Table, a Annotation) (added Annotation, isNew bool, err error) {
	if _, err := analytics.GetSite(ctx, t, a.SiteID); err != nil {
		return Annotation{}, false, err
	}
	a.At = a.At.UTC().Truncate(time.Millisecond)
	if err := a.check(t.Now()); err != nil {
		return Annotation{}, false, err
	}
	a.AnnotationID = a.id()
	stored, err := Annotations.Get(ctx, t, a.Key)
	if !errors.Is(err, table.ErrNotFound) {
		return stored, false, err
	}
	day := a.At.Truncate(24 * time.Hour)
	of, err := between(ctx, t, a.SiteID, day, day.Add(24*time.Hour))
	if err != nil {
		return Annotation{}, false, err
	}
	if len(of) >= MaxPerDay {
		return Annotation{}, false, fmt.Errorf("%w: %s already has %d annotations; delete some first", ErrAnnotation, day.Format(time.DateOnly), len(of))
	}
	err = Annotations.Create(ctx, t, &a)
	if errors.Is(err, table.ErrExists) { // added in the meantime
		stored, err := Annotations.Get(ctx, t, a.Key)
		return stored, false, err
	}
	return a, err == nil, err
}

// check reports what is wrong. Texts are single lines, because a chart has no room
// for more, and URLs are of the web, because the dashboard links to them.
func (a *Annotation) check(now time.Time) error {
	n := len([]rune(a.Text))
	switch {
	case n == 0 || n > MaxText || strings.TrimSpace(a.Text) != a.Text:
		return fmt.Errorf("%w: use a text of 1 to %d characters, without spaces around it", ErrAnnotation, MaxText)
	case strings.ToValidUTF8(a.Text, "") != a.Text || strings.ContainsFunc(a.Text, unicode.IsControl):
		return fmt.Errorf("%w: use a text of one line, in UTF-8", ErrAnnotation)
	case a.At.UnixMilli() < 0 || a.At.After(now.Add(maxAhead)):
		return fmt.Errorf("%w: %s is before 1970 or more than a year ahead", ErrAnnotation, a.At.Format(time.RFC3339))
	case a.URL == "":
		return nil
	}
	u, err := url.Parse(a.URL)
	if err != nil || len(a.URL) > MaxURL || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%w: use a URL that begins with https:// or http://, of at most %d bytes", ErrAnnotation, MaxURL)
	}
	return nil
}

func (a *Annotation) id() string {
	var id ulid.ULID
	sum := sha256.Sum256([]byte(a.Text + "\x00" + a.URL))
	copy(id[6:], sum[:])
	_ = id.SetTime(uint64(a.At.UnixMilli())) // check bounds the time
	return id.String()
}

// Delete deletes an annotation and returns it. Errors: table.ErrNotFound.
func Delete(ctx context.Context, t *table.Table, k Key) (Annotation, error) {
	a, err := Annotations.Get(ctx, t, k)
	if err == nil {
		err = Annotations.Delete(ctx, t, k, table.Present())
	}
	if errors.Is(err, table.ErrCondition) {
		err = table.ErrNotFound
	}
	return a, err
}

// List returns the annotations of days of a site, YYYY-MM-DD in its time zone, both inclusive, oldest
// first. Errors: ErrAnnotation for malformed days or more than ten years, table.ErrNotFound.
func List(ctx context.Context, t *table.Table, siteID, from, to string) ([]Annotation, error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return nil, err
	}
	cal, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("annotations: %s: %w", siteID, err)
	}
	start, err := cal.Start(from)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnnotation, err)
	}
	_, end, err := cal.Bounds(to)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnnotation, err)
	}
	const maxDays = 3660
	if n := calendar.DaysBetween(from, to) + 1; n < 1 || n > maxDays {
		return nil, fmt.Errorf("%w: %s to %s is %d days: want 1 to %d", ErrAnnotation, from, to, n, maxDays)
	}
	return between(ctx, t, siteID, start, end)
}

func between(ctx context.Context, t *table.Table, siteID string, from, to time.Time) ([]Annotation, error) {
	return ByTime.Collect(ctx, t, In{siteID, analytics.FirstID(from), analytics.FirstID(to)})
}
