package analytics

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/table"
)

// ErrSite is returned for an invalid setting of a site. The message says what to choose.
var ErrSite = errors.New("analytics: site")

// DefaultOwner owns the sites of an installation without accounts.
const DefaultOwner = "local"

const (
	defaultShards  = 1 // about 1,000 write units a second, as blocks share them; can be raised at runtime
	importKeyBytes = 32
	maxSiteID      = 64
	maxDomains     = 50
	maxShardings   = 100 // changes of one site's sharding

	// shardingNotice is how far ahead a new shard count is scheduled. By its time no collector may
	// use the old history, and no event with a later time may have been stored under it.
	shardingNotice = maxFuture + SettingsNotice + time.Minute
)

// NewSite holds the settings of a site to create.
type NewSite struct {
	ID        string   // lower-case letters, digits and . _ - ; at most 64 bytes
	OwnerID   string   // default DefaultOwner
	Domains   []string // its own hosts, without scheme; traffic from them is no referral
	TimeZone  string   // IANA name; default UTC. Fixed once the site has events: all buckets are in it
	Settings  Settings
	Shards    int         // partitions for events and visitors; default 1
	Retention Retention   // zero: the defaults
	Mask      *mask.Rules // nil: mask.Default
}

// CreateSite creates a site. Errors: ErrSite, ErrRetention, table.ErrExists for an ID in use.
func CreateSite(ctx context.Context, t *table.Table, n NewSite) (Site, error) {
	s := Site{
		SiteKey: SiteKey{n.ID}, OwnerID: n.OwnerID, Domains: n.Domains, TimeZone: n.TimeZone, Settings: n.Settings,
		CreatedAt: t.Now().UTC().Truncate(time.Millisecond), Retention: n.Retention, ImportKey: make([]byte, importKeyBytes),
	}
	if s.OwnerID == "" {
		s.OwnerID = DefaultOwner
	}
	if s.TimeZone == "" {
		s.TimeZone = "UTC"
	}
	if s.Mask = mask.Default(); n.Mask != nil {
		s.Mask = *n.Mask
	}
	if n.Shards == 0 {
		n.Shards = defaultShards
	}
	s.Sharding = table.Shards(n.Shards)
	if err := s.check(); err != nil {
		return Site{}, err
	}
	if n.ID != strings.ToLower(n.ID) { // "Shop" would be mistaken for "shop"
		return Site{}, fmt.Errorf("%w: id %q: use lower-case letters", ErrSite, n.ID)
	}
	if _, err := rand.Read(s.ImportKey); err != nil {
		return Site{}, fmt.Errorf("analytics: create site %s: %w", n.ID, err)
	}
	if err := s.register(ctx, t); err != nil {
		return Site{}, fmt.Errorf("analytics: create site %s: %w", n.ID, err)
	}
	if err := Sites.Create(ctx, t, &s); err != nil {
		return Site{}, fmt.Errorf("analytics: create site %s: %w", n.ID, err)
	}
	return s, nil
}

// GetSite reads a site. Errors: table.ErrNotFound, also if the site is being deleted.
func GetSite(ctx context.Context, t *table.Table, siteID string) (Site, error) {
	s, err := SiteByID.Get(ctx, t, SiteIn{siteID})
	if err == nil && !s.DeletedAt.IsZero() {
		s, err = Site{}, table.ErrNotFound
	}
	if err != nil {
		return s, fmt.Errorf("analytics: site %q: %w", siteID, err)
	}
	return s, nil
}

// register stores the owner of a site before the site, so that EverySite finds it.
func (s *Site) register(ctx context.Context, t *table.Table) error {
	if s.OwnerID == DefaultOwner {
		return nil
	}
	return Owners.Put(ctx, t, &Owner{OwnerKey{s.OwnerID}})
}

// ListSites yields the sites of an owner by ID; "" means all owners, one after the other.
func ListSites(ctx context.Context, t *table.Table, ownerID string) iter.Seq2[Site, error] {
	return func(yield func(Site, error) bool) {
		for s, err := range EverySite(ctx, t, ownerID) {
			if s.DeletedAt.IsZero() && !yield(s, err) {
				return
			}
		}
	}
}

// EverySite is ListSites including sites that are being deleted.
func EverySite(ctx context.Context, t *table.Table, ownerID string) iter.Seq2[Site, error] {
	if ownerID != "" {
		return SitesOfOwner.All(ctx, t, OwnerIn{ownerID})
	}
	return func(yield func(Site, error) bool) {
		for s, err := range SitesOfOwner.All(ctx, t, OwnerIn{DefaultOwner}) {
			if !yield(s, err) {
				return
			}
		}
		for owner, err := range OwnersOfSites.All(ctx, t, struct{}{}) {
			if err != nil {
				yield(Site{}, err)
				return
			}
			for s, err := range SitesOfOwner.All(ctx, t, OwnerIn(owner.OwnerKey)) {
				if !yield(s, err) {
					return
				}
			}
		}
	}
}

// UpdateSite changes a site's settings, except those that stored facts depend on: the import key,
// the sharding (see SetShards), and the time zone once the site has events. Collectors see the
// change within ten seconds, or after Forget. Errors: ErrSite, ErrRetention, table.ErrNotFound.
func UpdateSite(ctx context.Context, t *table.Table, siteID string, change func(*Site) error) (Site, error) {
	before, err := GetSite(ctx, t, siteID)
	if err != nil {
		return Site{}, err
	}
	counted, err := hasEvents(ctx, t, &before)
	if err != nil {
		return before, fmt.Errorf("analytics: update site %s: %w", siteID, err)
	}
	s, err := Sites.Modify(ctx, t, SiteKey{siteID}, func(s *Site) error {
		if !s.DeletedAt.IsZero() {
			return table.ErrNotFound
		}
		was := *s
		if err := change(s); err != nil {
			return err
		}
		if s.TimeZone != was.TimeZone && counted {
			return fmt.Errorf("%w %s: the time zone is %s and cannot be changed, because existing statistics use it", ErrSite, siteID, was.TimeZone)
		}
		s.SiteKey, s.CreatedAt, s.DeletedAt, s.ImportKey, s.Sharding = was.SiteKey, was.CreatedAt, was.DeletedAt, was.ImportKey, was.Sharding
		s.keepRetention(&was, t.Now())
		if err := s.check(); err != nil || s.OwnerID == was.OwnerID {
			return err
		}
		return s.register(ctx, t)
	})
	if err != nil {
		return s, fmt.Errorf("analytics: update site %s: %w", siteID, err)
	}
	return s, nil
}

// hasEvents reports whether a site has events, or counts without raw events.
func hasEvents(ctx context.Context, t *table.Table, s *Site) (bool, error) {
	_, err := EventsBetween(s, time.UnixMilli(0), t.Now().Add(time.Hour), "").First(ctx, t)
	if err == nil || !errors.Is(err, table.ErrNotFound) {
		return true, err
	}
	return HasCounts(ctx, t, s)
}

// SetShards changes the number of partitions that a site's items are spread over, 1 to
// table.MaxShards. Events use the new number in about twelve minutes, once all servers know of it;
// visitors use it from the next day on. Stored items stay where they are. Setting the current
// number changes nothing. Errors: ErrSite if the number is out of range or has changed 100 times;
// table.ErrNotFound.
func SetShards(ctx context.Context, t *table.Table, siteID string, shards int) (Site, error) {
	if shards < 1 || shards > table.MaxShards {
		return Site{}, fmt.Errorf("analytics: set shards of site %s: %w: %d partitions: use 1 to %d", siteID, ErrSite, shards, table.MaxShards)
	}
	s, err := Sites.Modify(ctx, t, SiteKey{siteID}, func(s *Site) error {
		if !s.DeletedAt.IsZero() {
			return table.ErrNotFound
		}
		if n := len(s.Sharding); n > 0 && s.Sharding[n-1].N == shards {
			return nil
		}
		if len(s.Sharding) > maxShardings {
			return fmt.Errorf("%w: the number of partitions was already changed %d times, which is the maximum", ErrSite, maxShardings)
		}
		next, err := s.Sharding.Then(t.Now().Add(shardingNotice), shards)
		s.Sharding = next
		return err
	})
	if err != nil {
		return s, fmt.Errorf("analytics: set shards of site %s: %w", siteID, err)
	}
	return s, nil
}

// check validates and normalizes a site's settings.
func (s *Site) check() error {
	if !validSiteID(s.SiteID) {
		return fmt.Errorf("%w: id %q: use letters, digits and . _ - (but not . or .. alone), at most %d", ErrSite, s.SiteID, maxSiteID)
	}
	if s.OwnerID == "" || strings.Contains(s.OwnerID, "#") || len(s.OwnerID) > maxUserID {
		return fmt.Errorf("%w %s: owner %q: use 1 to %d bytes without '#'", ErrSite, s.SiteID, s.OwnerID, maxUserID)
	}
	if _, err := calendar.LoadZone(s.TimeZone); err != nil {
		return fmt.Errorf("%w %s: time zone %q: use an IANA name like Europe/Berlin", ErrSite, s.SiteID, s.TimeZone)
	}
	if len(s.Domains) > maxDomains {
		return fmt.Errorf("%w %s: %d domains: use at most %d", ErrSite, s.SiteID, len(s.Domains), maxDomains)
	}
	domains := slices.Clone(s.Domains)
	for i, d := range domains {
		domains[i] = referral.HostName(d)
		if domains[i] == "" || strings.ContainsAny(d, "/ #?@") {
			return fmt.Errorf("%w %s: domain %q: use a host like example.com", ErrSite, s.SiteID, d)
		}
	}
	s.Domains = domains
	if err := s.Settings.check(); err != nil {
		return fmt.Errorf("%s: %w", s.SiteID, err)
	}
	if _, err := s.Exclude.Compile(); err != nil {
		return fmt.Errorf("%w %s: %w", ErrSite, s.SiteID, err)
	}
	if _, err := s.Mask.Compile(); err != nil {
		return fmt.Errorf("%w %s: %w", ErrSite, s.SiteID, err)
	}
	if err := s.Sharding.Validate(); err != nil {
		return fmt.Errorf("%w %s: %w", ErrSite, s.SiteID, err)
	}
	return s.Retention.Check()
}

// validSiteID checks an ID, a part of keys and of URL paths, where "." and ".." are special.
func validSiteID(id string) bool {
	if id == "" || id == "." || id == ".." || len(id) > maxSiteID {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
