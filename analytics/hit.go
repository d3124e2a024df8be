package analytics

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics/internal/texts"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/analytics/internal/vitals"
	"github.com/onefold/onefold/internal/decimal"
	"github.com/onefold/onefold/internal/exchange"
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/internal/referral"
)

// Hit is a page view or custom event as a browser, SDK or log reports it. Address and UserAgent
// only yield the visitor ID; they are neither stored nor logged. The caller rejects bots
// beforehand.
type Hit struct {
	EventID string    // ULID made by the sender; a resent one is stored once. "": generated
	Resent  bool      // it may have been stored before, from another network. See Collector.Ingest
	At      time.Time // time of the event, used if EventID is empty; zero: now
	Name    string    // of a custom event; "" is a page view

	URL      string // of the page, with query. Its host must be one of the site's domains, if any are listed
	Path     string // instead of URL
	Referrer string // URL of the previous page

	UserAgent, Address string
	UserID             string // the site's ID for the user, if known
	SessionID          string // only if the sender manages sessions itself

	Client

	Properties map[string]string
	Revenue    string          // decimal
	Currency   string          // of Revenue, an ISO 4217 code in any case; "": the site's
	Rates      *exchange.Rates // to convert Revenue to the site's currency; nil: none
	Engagement                 // of an EngagementEvent
	Vitals                     // of a VitalsEvent
	DNT, GPC   bool            // Do Not Track, Global Privacy Control
	DataCenter bool            // the address is in a network of data centers, so the sender is likely a program
	Spam       bool            // the referrer is known to be spam
	Imported   bool            // from a log: any past time is accepted; the visitor ID is the same on every import
}

// Limits of an event, in bytes. Longer descriptive texts are cut, longer identifiers rejected.
const (
	maxPath          = 512
	maxSentPath      = 2048 // longer paths are rejected, unless imported
	maxName          = 120
	maxProperties    = 30
	maxPropertyName  = 64
	maxPropertyValue = 512
	maxUserID        = 128
	maxSessionID     = 64
	maxShown         = 64  // of rejected input, in messages
	maxHost          = 253 // RFC 1035
)

// Limits of measurements. Larger values are capped, not rejected: a browser's clock can jump.
const (
	maxEngaged = 24 * time.Hour
	maxScroll  = 100
	maxVital   = 600_000 // milliseconds
	maxShift   = 1_000
)

// maxFuture is the maximum clock skew of a sender, ahead.
const maxFuture = 10 * time.Minute

// Reason is why an event was rejected. The values are stable, so programs may compare them.
type Reason string

const (
	BadEventID      Reason = "bad_event_id"
	TooOld          Reason = "too_old"
	InTheFuture     Reason = "in_the_future"
	PathTooLong     Reason = "path_too_long"
	NameTooLong     Reason = "name_too_long"
	TooManyProps    Reason = "too_many_properties"
	PropertyTooLong Reason = "property_too_long"
	BadUserID       Reason = "bad_user_id"
	BadSessionID    Reason = "bad_session_id"
	BadRevenue      Reason = "bad_revenue"
	BadCurrency     Reason = "bad_currency"
	NoVisitor       Reason = "no_visitor"
	BadURL          Reason = "bad_url"
	WrongDomain     Reason = "wrong_domain"
	Excluded        Reason = "excluded"
	OptedOut        Reason = "opted_out"
	DataCenter      Reason = "data_center"
	ReferrerSpam    Reason = "referrer_spam"
)

type rejection struct {
	reason Reason
	text   string
}

func (r *rejection) Error() string { return string(r.reason) + ": " + r.text }

func reject(reason Reason, format string, args ...any) *rejection {
	return &rejection{reason, fmt.Sprintf(format, args...)}
}

// eventOf converts a hit into an event, without visitor and shard. now is the arrival time.
func (s *siteState) eventOf(h *Hit, now time.Time) (e Event, at time.Time, r *rejection) {
	id, at, r := s.identify(h, now)
	if r != nil {
		return e, at, r
	}
	e.EventKey = EventKey{SiteID: s.site.SiteID, EventID: id}
	if r = h.check(); r != nil {
		return e, at, r
	}
	page, r := s.pageOf(h)
	if r != nil {
		return e, at, r
	}
	e.Path, e.Host = page.Path, page.Host
	if r = s.earn(&e, h, at); r != nil {
		return e, at, r
	}
	e.ZoneMinutes = s.cal.Minutes(at)
	e.Name, e.UserID, e.SessionID = texts.Clip(s.masks.Text(h.Name), maxName), h.UserID, h.SessionID
	e.Source = referral.Of(s.masks.URL(h.Referrer), page, s.site.Domains)
	e.Client = h.Client
	e.Client.Map(func(text string) string { return texts.Clip(text, MaxClient) })
	e.Properties = s.maskProperties(texts.ValidMap(h.Properties))
	e.Engagement, e.Vitals = h.measured()
	s.expire(&e, at, now)
	return e, at, nil
}

// earn sets the revenue of an event in the site's currency, and what was paid in another one. Without an
// exchange rate, the event has no revenue in the site's currency.
func (s *siteState) earn(e *Event, h *Hit, at time.Time) *rejection {
	revenue, err := decimal.Parse(h.Revenue)
	if err != nil {
		return reject(BadRevenue, "%v", err)
	}
	e.Revenue = revenue
	if h.Currency == "" || revenue == "" {
		return nil
	}
	own := cmp.Or(s.site.Currency, DefaultCurrency)
	if strings.EqualFold(h.Currency, own) { // a site may have a currency that ISO 4217 lacks, such as BTC
		return nil
	}
	paid, err := exchange.Parse(h.Currency)
	if err != nil {
		return reject(BadCurrency, "%q is not a currency; use a code of ISO 4217, such as EUR", texts.Clip(h.Currency, maxShown))
	}
	converted, known := h.Rates.Convert(revenue, paid, own, at)
	e.Paid = Payment{Amount: revenue, Currency: paid, Unconverted: !known}
	if e.Revenue, err = decimal.Parse(converted); err != nil {
		return reject(BadRevenue, "%s %s is too large an amount of %s", revenue, paid, own)
	}
	return nil
}

// outcome returns the outcome of an event that is accepted. A duplicate has no warning: the copy that is
// stored may have been converted.
func (e *Event) outcome(status Status) Outcome {
	o := Outcome{EventID: e.EventID, Status: status}
	if e.Paid.Unconverted && status != Duplicate {
		o.Warning = NoExchangeRate
	}
	return o
}

// identify returns the event's ID and its time, which is part of the ID.
func (s *siteState) identify(h *Hit, now time.Time) (string, time.Time, *rejection) {
	var id ulid.ULID
	if h.EventID != "" {
		var err error
		if id, err = ulid.ParseStrict(h.EventID); err != nil {
			return "", now, reject(BadEventID, "%q is not a ULID", texts.Clip(h.EventID, maxShown))
		}
	} else {
		at := h.At
		if at.IsZero() {
			at = now
		}
		if at.UnixMilli() < 0 {
			return "", at, reject(TooOld, "%s is before 1970", at.UTC().Format(time.RFC3339))
		}
		id = newULID(uint64(at.UnixMilli()), rand.Uint64(), uint16(rand.Uint32()))
	}
	at := time.UnixMilli(int64(id.Time()))
	if at.After(now.Add(maxFuture)) {
		return "", at, reject(InTheFuture, "%s is more than %s ahead of %s", at.UTC().Format(time.RFC3339), maxFuture, now.UTC().Format(time.RFC3339))
	}
	if end := s.site.SealedAt(at); !h.Imported && now.After(end) {
		return "", at, reject(TooOld, "%s is too old, because the statistics of that time were sealed on %s; import the event instead", at.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339))
	}
	return id.String(), at, nil
}

// newULID assembles a ULID from a time in milliseconds and 80 bits.
func newULID(ms, high uint64, low uint16) (id ulid.ULID) {
	binary.BigEndian.PutUint64(id[:8], ms<<16)
	binary.BigEndian.PutUint64(id[6:14], high)
	binary.BigEndian.PutUint16(id[14:], low)
	return id
}

// check rejects invalid identifying fields, which must not be cut.
func (h *Hit) check() *rejection {
	switch {
	case len(h.Name) > maxName:
		return reject(NameTooLong, "the event name has %d bytes; use at most %d", len(h.Name), maxName)
	case len(h.UserID) > maxUserID || strings.Contains(h.UserID, "#") || !utf8.ValidString(h.UserID):
		return reject(BadUserID, "use a user ID of at most %d bytes without '#'", maxUserID)
	case len(h.SessionID) > maxSessionID || h.SessionID == visits.OtherOwn || !utf8.ValidString(h.SessionID):
		return reject(BadSessionID, "use a session ID of at most %d bytes", maxSessionID)
	case len(h.Properties) > maxProperties:
		return reject(TooManyProps, "%d properties; use at most %d", len(h.Properties), maxProperties)
	case h.Address == "" && h.UserAgent == "":
		return reject(NoVisitor, "the event has neither an address nor a user agent to identify the visitor")
	}
	for name, value := range h.Properties {
		if len(name) == 0 || len(name) > maxPropertyName || len(value) > maxPropertyValue {
			return reject(PropertyTooLong, "property %q: use a name of 1 to %d bytes and a value of at most %d", texts.Clip(name, maxPropertyName), maxPropertyName, maxPropertyValue)
		}
	}
	return nil
}

// pageOf returns the page of a hit with its masked path and query, or why the site does not count
// it. Exclusions see the path as it was sent.
func (s *siteState) pageOf(h *Hit) (page referral.Address, r *rejection) {
	page = referral.Locate(h.URL)
	if h.URL == "" {
		page = referral.Locate(h.Path)
	}
	if !h.Imported && (!texts.WebAddress(h.URL) || len(page.Host) > maxHost || !referral.PlausibleHost(page.Host) || texts.HasControls(page.Path)) {
		return page, reject(BadURL, "the page URL is invalid: use https://host/path or /path")
	}
	sent, r := pathOf(page.Path, h.Imported)
	if r != nil {
		return page, r
	}
	switch {
	case h.DNT && s.site.RespectDNT || h.GPC && s.site.RespectGPC:
		return page, reject(OptedOut, "the browser requests not to be tracked, and the site respects that")
	case h.DataCenter && !s.site.KeepDataCenters:
		return page, reject(DataCenter, "the address belongs to a data center; the site does not count these")
	case h.Spam:
		return page, reject(ReferrerSpam, "the referrer is in the list of referrer spam")
	case !h.Imported && page.Host != "" && len(s.site.Domains) > 0 && !referral.Within(page.Host, s.site.Domains):
		return page, reject(WrongDomain, "%s is not one of the site's domains", texts.Clip(page.Host, maxShown))
	case s.excluded.Host(page.Host) || s.excluded.Path(texts.Clip(sent, maxPath)) || s.excluded.Address(h.Address):
		return page, reject(Excluded, "the site excludes this page, host or address")
	}
	page.Path, page.Query = storedPath(s.masks, sent), s.masks.Query(page.Query)
	return page, nil
}

func (h *Hit) measured() (e Engagement, v Vitals) {
	switch h.Name {
	case EngagementEvent:
		e.EngagedMS = min(max(h.EngagedMS, 0), maxEngaged.Milliseconds())
		e.Scroll = min(max(h.Scroll, 0), maxScroll)
	case VitalsEvent:
		v.LCP, v.INP = vitals.Bounded(h.LCP, maxVital), vitals.Bounded(h.INP, maxVital)
		if h.CLS != nil && *h.CLS >= 0 {
			v.CLS = new(vitals.Bounded(*h.CLS, maxShift))
		}
	}
	return e, v
}

// pathOf returns the path of a page with its leading slash.
func pathOf(path string, imported bool) (string, *rejection) {
	if len(path) > maxSentPath && !imported {
		return "", reject(PathTooLong, "the path has %d bytes; use at most %d", len(path), maxSentPath)
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	return path, nil
}

// storedPath returns the path by which a page is counted.
func storedPath(masks *mask.Masker, sent string) string { return texts.Clip(masks.Path(sent), maxPath) }

// expire sets the expiry of the raw event. It counts from the event's time, or for a late event
// from its arrival, rounded up to the hour so that the items of an import share an expiry.
func (s *siteState) expire(e *Event, at, now time.Time) {
	from := at
	if now.Sub(at) > 24*time.Hour {
		from = now.Add(time.Hour - 1).Truncate(time.Hour)
		e.Arrived = from.Unix()
	}
	e.ExpiresAt = wholeHour(from.Add(s.site.Retention.Raw()))
}

// maskProperties masks the values of properties. It does not modify p.
func (s *siteState) maskProperties(p map[string]string) map[string]string {
	var masked map[string]string
	for name, value := range p {
		text := texts.Clip(s.masks.Text(value), maxPropertyValue) // names in patterns may be longer than what they replace
		if text == value {
			continue
		}
		if masked == nil {
			masked = maps.Clone(p)
		}
		masked[name] = text
	}
	if masked == nil {
		return p
	}
	return masked
}
