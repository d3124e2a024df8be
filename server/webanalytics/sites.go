package webanalytics

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/internal/exclude"
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

// siteBody is the public part of a site. The import key is never included.
type siteBody struct {
	ID               string        `json:"id"`
	Name             string        `json:"name"`
	Domains          []string      `json:"domains"`
	TimeZone         string        `json:"timezone"`
	Currency         string        `json:"currency" doc:"ISO 4217 code, for all revenue."`
	Public           bool          `json:"public" doc:"Anyone may see the statistics."`
	CustomProperties []string      `json:"customProperties" doc:"Event properties that are dimensions, as prop:NAME."`
	HasEvents        bool          `json:"hasEvents" doc:"The site has counts: of events, or of imported days."`
	Role             accounts.Role `json:"role,omitempty" doc:"The caller's role."`
	Segment          string        `json:"segment,omitempty" doc:"Name of the only segment that the caller may see, in a shared view."`
	*SiteSettings
}

// SiteSettings are visible to people with a role on the site, but not in shared and public views.
type SiteSettings struct {
	Shards          []shardsBody  `json:"shards" required:"false" doc:"Number of partitions over time. The last step whose time has come applies; earlier events stay where they are."`
	Retention       retentionBody `json:"retention" required:"false"`
	Exclude         excludeBody   `json:"exclude" required:"false"`
	Mask            maskBody      `json:"mask" required:"false" doc:"Personal data that is replaced before an event is stored."`
	KeepDataCenters bool          `json:"keepDataCenters" required:"false" doc:"Count visitors whose address is in the server's list of data centers, such as people who use a VPN."`
	RespectDNT      bool          `json:"respectDnt" required:"false" doc:"Do not count visitors who send Do Not Track."`
	RespectGPC      bool          `json:"respectGpc" required:"false" doc:"Do not count visitors who send Global Privacy Control."`
}

type retentionBody struct {
	RawDays   int `json:"rawDays,omitempty" minimum:"0" doc:"Raw events, which filters, sessions and funnels need. At most as long as daily statistics. 0: the same time."`
	HourDays  int `json:"hourDays,omitempty" minimum:"0" doc:"Hourly statistics and visits. 0: the default, 90."`
	DayDays   int `json:"dayDays,omitempty" minimum:"0" doc:"Daily statistics. 0: the default, 730."`
	MonthDays int `json:"monthDays,omitempty" minimum:"0" doc:"Monthly statistics. 0: forever."`
}

type excludeBody struct {
	Addresses []string `json:"addresses,omitempty" maxItems:"200" audit:"hide" doc:"IP addresses or networks."`
	Paths     []string `json:"paths,omitempty" maxItems:"200" doc:"Wildcards, such as /admin/**."`
	Hosts     []string `json:"hosts,omitempty" maxItems:"200" doc:"Wildcards, such as *.preview.example.com."`
}

type siteAnswer struct {
	Body siteBody
}

type newSiteRequest struct {
	Body struct {
		ID       string   `json:"id,omitempty" maxLength:"64" doc:"Sent by trackers. Lower-case letters, digits and . _ - . Default: the first domain, or derived from the name."`
		Name     string   `json:"name,omitempty" maxLength:"200"`
		Domains  []string `json:"domains,omitempty" maxItems:"50"`
		TimeZone string   `json:"timezone,omitempty" maxLength:"64" doc:"IANA name. It cannot be changed, because all statistics use its days. Default: UTC."`
	}
}

type updateSiteRequest struct {
	middleware.SitePath
	Body struct {
		Name             *string        `json:"name,omitempty" maxLength:"200"`
		Domains          *[]string      `json:"domains,omitempty" maxItems:"50"`
		TimeZone         *string        `json:"timezone,omitempty" maxLength:"64"`
		Currency         *string        `json:"currency,omitempty" maxLength:"3"`
		Public           *bool          `json:"public,omitempty"`
		CustomProperties *[]string      `json:"customProperties,omitempty" maxItems:"10"`
		Retention        *retentionBody `json:"retention,omitempty"`
		Exclude          *excludeBody   `json:"exclude,omitempty"`
		Mask             *maskBody      `json:"mask,omitempty"`
		KeepDataCenters  *bool          `json:"keepDataCenters,omitempty"`
		RespectDNT       *bool          `json:"respectDnt,omitempty"`
		RespectGPC       *bool          `json:"respectGpc,omitempty"`
	}
}

func (s *Service) siteRoutes(api huma.API) {
	const list, one = "/api/v1/sites", "/api/v1/sites/{site}"
	huma.Register(api, middleware.Guard(middleware.ForIdentified, huma.Operation{
		OperationID: "sites", Method: http.MethodGet, Path: list,
		Summary: "List the sites that the caller may see, with their last week", Tags: []string{"sites"},
	}), s.sites)
	huma.Register(api, middleware.Guard(middleware.ForAllSites, huma.Operation{
		OperationID: "add-site", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Create a site", Description: "Repeating the request within ten minutes returns the same response.", Tags: []string{"sites"}, Errors: []int{http.StatusConflict},
	}), s.addSite)
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "site", Method: http.MethodGet, Path: one,
		Summary: "Get a site's settings", Description: "Shared and public views see only what they need.", Tags: []string{"sites"},
	})), s.site)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "update-site", Method: http.MethodPatch, Path: one, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Update a site's settings", Description: "Fields that are not given stay unchanged. Existing statistics are not recomputed.", Tags: []string{"sites"},
	}), s.updateSite)
	s.shardRoutes(api, one)
	s.maskRoutes(api, one)
	huma.Register(api, middleware.Guard(middleware.ForOwner, huma.Operation{
		OperationID: "delete-site", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent,
		Summary: "Delete a site and all its data", Description: "The site is unknown at once. Its data is deleted in the background; its roles, keys and shares end at once.", Tags: []string{"sites"},
	}), s.deleteSite)
}

func (s *Service) site(ctx context.Context, in *middleware.SitePath) (*siteAnswer, error) {
	site, err := analytics.GetSite(ctx, s.table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return s.describeSite(ctx, &site)
}

func (s *Service) describeSite(ctx context.Context, site *analytics.Site) (*siteAnswer, error) {
	counted, err := analytics.HasCounts(ctx, s.table, site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	body := allOf(site)
	body.HasEvents = counted
	if who := middleware.CallerOf(ctx); who.May(middleware.ForRead, site.SiteID) {
		body.Role = who.Grants.On(site.SiteID)
	} else {
		body.SiteSettings = nil
		if only := who.Restriction(); only != nil {
			body.Segment = only.Name
		}
	}
	return &siteAnswer{Body: body}, nil
}

// allOf returns all settings of a site, as the audit record stores them, too.
func allOf(site *analytics.Site) siteBody {
	return siteBody{
		ID: site.SiteID, Name: cmp.Or(site.Name, site.SiteID), Domains: orEmpty(site.Domains), TimeZone: site.TimeZone, Currency: cmp.Or(site.Currency, analytics.DefaultCurrency),
		Public: site.Public, CustomProperties: orEmpty(site.CustomProperties),
		SiteSettings: &SiteSettings{describeShards(site.Sharding), describeRetention(site.Retention), excludeBody(site.Exclude), describeMask(site.Mask), site.KeepDataCenters, site.RespectDNT, site.RespectGPC},
	}
}

// describeRetention returns the retention with defaults filled in.
func describeRetention(r analytics.Retention) retentionBody {
	const day = 24 * time.Hour
	return retentionBody{int(r.Raw() / day), int(r.Of(analytics.Hour) / day), int(r.Of(analytics.Day) / day), int(r.Of(analytics.Month) / day)}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func (s *Service) addSite(ctx context.Context, in *newSiteRequest) (*siteAnswer, error) {
	n := analytics.NewSite{ID: in.Body.ID, Domains: in.Body.Domains, TimeZone: in.Body.TimeZone, Settings: analytics.Settings{Name: in.Body.Name}}
	if n.ID == "" {
		n.ID = siteIDFrom(append(in.Body.Domains, in.Body.Name)[0])
	}
	site, err := analytics.CreateSite(ctx, s.table, n)
	if errors.Is(err, table.ErrExists) {
		if before, found := s.addedBefore(ctx, &n); found {
			return s.describeSite(ctx, &before)
		}
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "site.create", Site: site.SiteID}, nil, allOf(&site))
	return s.describeSite(ctx, &site)
}

// sentAgain is how long a repeated request counts as a retry of the first, whose response may have
// been lost.
const sentAgain = 10 * time.Minute

// addedBefore finds a site that an identical request created shortly before.
func (s *Service) addedBefore(ctx context.Context, n *analytics.NewSite) (analytics.Site, bool) {
	site, err := analytics.GetSite(ctx, s.table, n.ID)
	sameDomain := func(stored, asked string) bool { return stored == referral.HostName(asked) }
	return site, err == nil && s.table.Now().Sub(site.CreatedAt) <= sentAgain && site.Name == n.Settings.Name &&
		site.TimeZone == cmp.Or(n.TimeZone, "UTC") && slices.EqualFunc(site.Domains, n.Domains, sameDomain)
}

// siteIDFrom derives a site ID from a domain or name. Invalid characters become dashes.
func siteIDFrom(text string) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimSpace(text)))
	return strings.Trim(id[:min(len(id), 64)], "-.")
}

func (s *Service) updateSite(ctx context.Context, in *updateSiteRequest) (*siteAnswer, error) {
	var before siteBody
	site, err := analytics.UpdateSite(ctx, s.table, in.Site, func(site *analytics.Site) error {
		before = allOf(site)
		return in.change(site)
	})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.o.Collector.Forget(in.Site)
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "site.update", Site: in.Site}, before, allOf(&site))
	return s.describeSite(ctx, &site)
}

// change applies the given fields of a request to a site.
func (in *updateSiteRequest) change(site *analytics.Site) error {
	b := &in.Body
	middleware.Set(&site.Name, b.Name)
	middleware.Set(&site.Domains, b.Domains)
	middleware.Set(&site.TimeZone, b.TimeZone)
	middleware.Set(&site.Currency, b.Currency)
	middleware.Set(&site.Public, b.Public)
	middleware.Set(&site.CustomProperties, b.CustomProperties)
	middleware.Set(&site.KeepDataCenters, b.KeepDataCenters)
	middleware.Set(&site.RespectDNT, b.RespectDNT)
	middleware.Set(&site.RespectGPC, b.RespectGPC)
	if b.Retention != nil {
		site.Retention = analytics.Retention(*b.Retention)
	}
	if b.Exclude != nil {
		site.Exclude = exclude.Rules(*b.Exclude)
	}
	if b.Mask != nil {
		site.Mask = mask.Rules(*b.Mask)
	}
	return nil
}

// deleteSite first marks the site as deleted. If it is interrupted after that, roles, keys and
// shares are removed when the site is purged.
func (s *Service) deleteSite(ctx context.Context, in *middleware.SitePath) (*struct{}, error) {
	site, err := analytics.GetSite(ctx, s.table, in.Site)
	if err == nil {
		err = erasure.DeleteSite(ctx, s.table, in.Site)
	}
	if err == nil {
		s.o.Collector.Forget(in.Site)
		err = s.mw.Accounts.RemoveSite(ctx, in.Site)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "site.delete", Site: in.Site}, allOf(&site), nil)
	return nil, nil
}
