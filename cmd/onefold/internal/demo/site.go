// Package demo generates the data of the demo: the past of sites, a device fleet and orders, and
// their live traffic.
package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/internal/traffic"
	"github.com/onefold/onefold/internal/useragent"
	"github.com/onefold/onefold/table"
)

// Site is a site of the demo with its traffic.
type Site struct {
	site         analytics.NewSite
	goals        []analytics.Goal
	course       explore.Funnel
	kind         traffic.Kind
	visitsPerDay int
	visit        float64 // mean number of events in a visit

	seed      uint64
	collector *analytics.Collector
	agents    *useragent.Parser
}

// Days is the length of a site's generated past.
const Days = 90

const (
	batch    = 500 // events stored together
	busier   = 3   // live traffic is denser than the past by this factor, so that something happens
	liveDays = 1
)

// loggedIn is the share of visitors known to the site: one in so many.
const loggedIn = 8

// NewSites returns the sites of the demo, with visitsPerDay visits in total.
func NewSites(seed uint64, visitsPerDay int) []*Site {
	company := &Site{
		site: analytics.NewSite{
			ID: "demo", TimeZone: "UTC", Domains: []string{"example.com"},
			Settings: analytics.Settings{Currency: "EUR", CustomProperties: []string{"plan", "interval"}},
		},
		goals: []analytics.Goal{
			{GoalKey: analytics.GoalKey{GoalID: "signup"}, Name: "Sign-up", Event: "signup"},
			{GoalKey: analytics.GoalKey{GoalID: "purchase"}, Name: "Purchase", Event: "purchase", Counting: analytics.EveryTime},
			{GoalKey: analytics.GoalKey{GoalID: "pricing"}, Name: "Viewed pricing", Path: "/pricing"},
		},
		course: funnel("Home page to sign-up", explore.Step{Path: "/"}, explore.Step{Path: "/pricing"}, explore.Step{Event: "signup"}),
		kind:   traffic.Company, visitsPerDay: max(visitsPerDay*2/3, 1), visit: 3, seed: seed,
	}
	shop := &Site{
		site: analytics.NewSite{
			ID: "tea-shop", TimeZone: "Europe/Berlin", Domains: []string{"tea.example.com"},
			Settings: analytics.Settings{Currency: "EUR", CustomProperties: []string{"category", "payment"}},
		},
		goals: []analytics.Goal{
			{GoalKey: analytics.GoalKey{GoalID: "order"}, Name: "Order", Event: "purchase", Counting: analytics.EveryTime},
			{GoalKey: analytics.GoalKey{GoalID: "basket"}, Name: "Added to cart", Event: "add_to_cart"},
			{GoalKey: analytics.GoalKey{GoalID: "product"}, Name: "Viewed a product", Path: "/products/*"},
		},
		course: funnel("Product to order", explore.Step{Path: "/products/*"}, explore.Step{Event: "add_to_cart"}, explore.Step{Event: "purchase"}),
		kind:   traffic.Shop, visitsPerDay: max(visitsPerDay/3, 1), visit: 4.5, seed: seed + 1<<32,
	}
	return []*Site{company, shop}
}

func funnel(name string, steps ...explore.Step) explore.Funnel {
	return explore.Funnel{Name: name, FunnelDefinition: explore.FunnelDefinition{Steps: steps}}
}

// ID returns the site ID.
func (d *Site) ID() string { return d.site.ID }

// Open connects the site to a table.
func (d *Site) Open(t *table.Table) (err error) {
	d.collector = analytics.NewCollector(t, analytics.CollectorOptions{})
	d.agents, err = useragent.New(0)
	return err
}

// Create creates the site, its goals and its funnel.
func (d *Site) Create(ctx context.Context, t *table.Table) error {
	_, err := analytics.CreateSite(ctx, t, d.site)
	for _, g := range d.goals {
		if err == nil {
			g.SiteID = d.site.ID
			_, err = goals.Create(ctx, t, g)
		}
	}
	if err != nil {
		return err
	}
	_, err = explore.New(t, explore.Options{}).CreateFunnel(ctx, d.site.ID, d.course.Name, d.course.FunnelDefinition)
	return err
}

// traffic returns a generator of the site's traffic.
func (d *Site) traffic(seed uint64, start time.Time, days, visitsPerDay int) (*traffic.Generator, error) {
	return traffic.New(traffic.Options{
		Kind: d.kind, Engagement: true, Seed: seed, Start: start, Days: days, VisitsPerDay: visitsPerDay, EventsPerVisit: d.visit, Site: d.site.Domains[0],
	})
}

// Fill stores the traffic up to now, and returns the number of events. It calls told with its
// progress.
func (d *Site) Fill(ctx context.Context, start, now time.Time, told func(at time.Time)) (sent int, err error) {
	generator, err := d.traffic(d.seed, start, Days, d.visitsPerDay)
	if err != nil {
		return 0, err
	}
	hits := make([]analytics.Hit, 0, batch)
	for e := range generator.Events() {
		if e.At.After(now) {
			break
		}
		for _, h := range d.hits(&e) {
			h.Imported = now.Sub(e.At) > 24*time.Hour // like events from a log, because live events must be recent
			hits = append(hits, h)
		}
		if len(hits) < batch {
			continue
		}
		if err := d.send(ctx, hits); err != nil {
			return sent, err
		}
		sent += len(hits)
		hits = hits[:0]
		told(e.At)
	}
	return sent + len(hits), d.send(ctx, hits)
}

// Live sends traffic as it happens, day after day, until ctx ends.
func (d *Site) Live(ctx context.Context) error {
	for seed := d.seed + 1; ; seed++ {
		start := time.Now().UTC().Truncate(time.Second)
		generator, err := d.traffic(seed, start, liveDays, d.visitsPerDay*busier)
		if err != nil {
			return err
		}
		for e := range generator.Events() {
			if err := backoff.For(ctx, time.Until(e.At)); err != nil {
				return err
			}
			if err := d.send(ctx, d.hits(&e)); err != nil {
				return err
			}
		}
	}
}

// send stores hits. A rejected event is an error, because the demo must generate valid ones.
func (d *Site) send(ctx context.Context, hits []analytics.Hit) error {
	outcomes, err := d.collector.Ingest(ctx, d.site.ID, hits)
	if err != nil {
		return err
	}
	for i := range outcomes {
		if outcomes[i].Status == analytics.Rejected {
			return errors.New("demo: event rejected: " + string(outcomes[i].Reason))
		}
	}
	return nil
}

// hits returns the hit of an event, and the Web Vitals of its page if the visitor leaves it.
func (d *Site) hits(e *traffic.Event) []analytics.Hit {
	h := d.hit(e)
	if v, ok := d.vitals(&h); ok {
		return []analytics.Hit{v, h}
	}
	return []analytics.Hit{h}
}

func (d *Site) hit(e *traffic.Event) analytics.Hit {
	agent := d.agents.Parse(e.UserAgent)
	url := "https://" + d.site.Domains[0] + e.Path
	if e.Query != "" {
		url += "?" + e.Query
	}
	h := analytics.Hit{
		EventID: ulid.MustNew(ulid.Timestamp(e.At), ulid.DefaultEntropy()).String(),
		Name:    e.Name, URL: url, Referrer: e.Referrer, UserAgent: e.UserAgent, Address: e.VisitorIP,
		Client:     analytics.Client{Screen: e.Screen, Language: e.Language, Country: e.Country, Browser: agent.Browser, OS: agent.OS, Device: agent.Device},
		Properties: e.Properties,
		Engagement: analytics.Engagement{EngagedMS: e.EngagedMS, Scroll: e.Scroll},
	}
	if e.Visitor%loggedIn == 0 {
		h.UserID = fmt.Sprintf("customer-%d", e.Visitor)
	}
	if e.Currency != "" {
		h.Revenue = strconv.FormatInt(e.RevenueCents/100, 10) + "." + fmt.Sprintf("%02d", e.RevenueCents%100)
	}
	return h
}
