// Package installation checks whether the tracker of a site works: somebody opens a page of the site with
// a token in its address, the tracker of that page sends the token to where it sends events, and the report
// is kept for a few minutes.
package installation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// ErrToken is returned if a token is unknown or has expired, or if its check already has a report.
var ErrToken = errors.New("installation: the check is unknown, has ended or has its report already")

// Lifetime is how long a check waits for its report, and how long the report is kept.
const Lifetime = 10 * time.Minute

// MaxToken is the maximum length of a token, in bytes.
const MaxToken = 2*128 + 1 + 2*secretBytes

const (
	secretBytes = 16
	maxText     = 253 // bytes of a text in a report: the longest host
)

// Key names the check of a site. A new check replaces the last one.
type Key struct {
	SiteID string `dynamodbav:"siteId"`
}

// Check is a check of a site's tracker.
type Check struct {
	Key
	Token     string    `dynamodbav:"token"`
	ExpiresAt time.Time `dynamodbav:"expiresAt"`
	Report    *Report   `dynamodbav:"report,omitempty"` // nil until the page has reported
}

// Report is what a page reported, and what would become of an event of it.
type Report struct {
	At      time.Time         `dynamodbav:"at"`
	TagSite string            `dynamodbav:"tagSite"`           // site ID of the tag
	Host    string            `dynamodbav:"host"`              // of the page
	Ignored bool              `dynamodbav:"ignored,omitempty"` // the browser is excluded with ?onefold=ignore
	Refused bool              `dynamodbav:"refused,omitempty"` // the tag's data-respect stops events of this browser
	Package bool              `dynamodbav:"package,omitempty"` // the tracker is the npm package, not the script
	Outcome analytics.Outcome `dynamodbav:"outcome"`
}

// Checks holds the checks of sites.
var Checks = table.Define[Check, Key]("analytics.installation", table.Def[Check]{
	PK: "SITE#{siteId}", SK: "INSTALLATION", Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole}}, // pages report where they send events
	Expires: func(c *Check) time.Time { return c.ExpiresAt },
	Doc:     "A check of a site's tracker, for ten minutes.",
})

var (
	token  = table.FieldOf(Checks, func(c *Check) *string { return &c.Token })
	report = table.FieldOf(Checks, func(c *Check) **Report { return &c.Report })
)

// Start starts a check and replaces the last one. Errors: table.ErrNotFound for an unknown site.
func Start(ctx context.Context, t *table.Table, siteID string) (Check, error) {
	if _, err := analytics.GetSite(ctx, t, siteID); err != nil {
		return Check{}, err
	}
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	c := Check{Key: Key{siteID}, Token: hex.EncodeToString([]byte(siteID)) + "_" + hex.EncodeToString(secret), ExpiresAt: t.Now().Add(Lifetime).Truncate(time.Second)}
	if err := Checks.Put(ctx, t, &c); err != nil {
		return Check{}, fmt.Errorf("installation: start: %w", err)
	}
	return c, nil
}

// Last returns the last check of a site. Errors: table.ErrNotFound if it has expired or there is none.
func Last(ctx context.Context, t *table.Table, siteID string) (Check, error) {
	return Checks.Get(ctx, t, Key{siteID})
}

// Add adds a report to the check with a token. A check takes one report. Errors: ErrToken.
func Add(ctx context.Context, t *table.Table, tokenOf string, r Report) error {
	c, err := Checks.Get(ctx, t, Key{siteOf(tokenOf)})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("installation: report: %w", err)
	}
	if err != nil || c.Token != tokenOf || c.Report != nil {
		return ErrToken
	}
	for _, text := range []*string{&r.TagSite, &r.Host, &r.Outcome.Detail} {
		*text = clip(*text)
	}
	r.At, c.Report = t.Now().UTC().Truncate(time.Millisecond), &r
	err = Checks.Put(ctx, t, &c, token.Eq(tokenOf), report.Missing())
	if errors.Is(err, table.ErrCondition) {
		return ErrToken
	}
	return err
}

// siteOf returns the site that a token names; a text that no site has if it names none.
func siteOf(token string) string {
	site, _, _ := strings.Cut(token, "_")
	id, err := hex.DecodeString(site)
	if err != nil || len(id) == 0 || len(token) > MaxToken || !utf8.Valid(id) || strings.ContainsRune(string(id), '#') {
		return "-"
	}
	return string(id)
}

// clip cuts a text to maxText bytes of valid UTF-8.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "")
}
