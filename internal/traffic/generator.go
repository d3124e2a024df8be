package traffic

import (
	"iter"
	"maps"
	"time"
)

// Event is a page view, or a custom event on the current page.
type Event struct {
	// At is the time, to the millisecond, in UTC. Events are in the order of time.
	At time.Time
	// Name is empty for a page view, otherwise the name of a custom event: "signup", "purchase",
	// "download", …
	Name string

	// Visit and Visitor number the visits and the people, from 1. A visit's events are less than 20
	// minutes apart, and a person's visits more than 30 minutes, so that sessions derived from the
	// other fields can be compared with visits.
	Visit, Visitor int64

	VisitorIP, UserAgent string
	// Path and Title are the page's. Query is the URL's query, on a visit's first page only.
	Path, Query, Title string
	// Referrer is the full URL of the previous page: on the first page another site's (or empty),
	// then this site's own.
	Referrer string
	UTM      UTM

	Country  string // ISO 3166-1
	Language string // BCP 47
	Screen   string // width x height in CSS pixels

	// Properties belong to custom events. RevenueCents is in hundredths of Currency (ISO 4217),
	// which is empty if the event has no revenue.
	Properties   map[string]string
	RevenueCents int64
	Currency     string

	// EngagedMS and Scroll belong to events named "engagement": how long the page was in the
	// foreground, in milliseconds, and how far it was scrolled, 0 to 100.
	EngagedMS int64
	Scroll    int
}

// Generator generates traffic. It is immutable after New, so several goroutines may use it.
type Generator struct {
	o       Options
	kind    profile
	site    site
	locales choice[locale]
	agents  choice[agent]
	bots    choice[string]
	sources choice[source]
	customs choice[custom]

	botVisits float64 // share of the visits that are bots'
	assets    float64 // requests for assets per event of a person
}

// New returns the generator for the options. Errors: ErrInvalidOptions.
func New(o Options) (*Generator, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	kind := o.Kind.profile()
	g := &Generator{
		o:       o,
		kind:    kind,
		site:    newSite(o.Pages, &kind),
		locales: newChoice(locales),
		agents:  newAgents(),
		bots:    newChoice(botAgents),
		sources: newSources(kind.sources),
		customs: newChoice(kind.customs),
	}
	people := 1 - o.BotShare - o.AssetShare
	g.assets = o.AssetShare / people
	// v visits of people make v·(e+a) lines, and b visits of bots b·m lines. The latter must be the
	// bots' share.
	lines := o.EventsPerVisit * (1 + g.assets)
	ratio := o.BotShare / (1 - o.BotShare) * lines / botRequests
	g.botVisits = ratio / (1 + ratio)
	return g, nil
}

// Events yields the events of people, in the order of time, from Start to the end of the last day.
// Memory is limited to concurrent visits.
func (g *Generator) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		end := g.o.Start.AddDate(0, 0, g.o.Days).UnixMilli()
		for v, s := range g.steps(float64(g.o.VisitsPerDay)) {
			if s.at >= end {
				return
			}
			if v.bot || s.kind == asset {
				continue
			}
			if !yield(g.event(v, s)) {
				return
			}
		}
	}
}

func (g *Generator) event(v *visit, s step) Event {
	e := Event{
		At:        time.UnixMilli(s.at).UTC(),
		Visit:     v.number,
		Visitor:   v.who.number,
		VisitorIP: v.who.ip,
		UserAgent: v.who.agent.userAgent,
		Path:      s.page.path,
		Title:     s.page.title,
		Referrer:  g.referrer(v, s),
		UTM:       v.from.utm,
		Country:   v.who.country,
		Language:  v.who.language,
		Screen:    v.who.screen,
	}
	if s.first {
		e.Query = v.from.query
	} else {
		e.UTM = UTM{}
	}
	if s.kind == action {
		e.Name = s.custom.name
		e.Properties = maps.Clone(s.custom.properties)
		if e.RevenueCents = s.custom.cents; e.RevenueCents > 0 {
			e.Currency = "EUR"
		}
	}
	if s.kind == leaving {
		e.Name, e.EngagedMS, e.Scroll = "engagement", s.engaged, 5+int(s.luck%96)
	}
	return e
}

// referrer returns the referrer that the browser sends with a step.
func (g *Generator) referrer(v *visit, s step) string {
	switch {
	case v.bot:
		return ""
	case s.first:
		return v.from.referrer
	case s.kind == view:
		return "https://" + g.o.Site + s.previous.path
	default:
		return "https://" + g.o.Site + s.page.path
	}
}
