package logimport

import (
	"cmp"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/eventcsv"
	"github.com/onefold/onefold/internal/useragent"
)

// exportRows converts rows of another program's export to hits. The program's visitor ID stands in
// for the address and user agent, which the program did not keep.
type exportRows struct {
	parser *eventcsv.Parser
	agents *useragent.Parser
	o      *Options
}

func (x *exportRows) hit(text []byte) (h analytics.Hit, v verdict, err error) {
	e, err := x.parser.Parse(text)
	if err != nil || e.Kind == eventcsv.Nothing {
		return h, noEvent, err
	}
	if len(x.o.Hosts) > 0 && !slices.ContainsFunc(x.o.Hosts, func(host string) bool { return strings.EqualFold(host, e.Host) }) {
		return h, otherHost, nil
	}
	if e.UserAgent != "" {
		agent := x.agents.Parse(e.UserAgent)
		e.Browser, e.OS, e.Device, e.Bot = agent.Browser, agent.OS, agent.Device, e.Bot || agent.Bot
	}
	if e.Bot && !x.o.Bots {
		return h, aBot, nil
	}
	h = analytics.Hit{
		Imported: true, At: e.At, Name: e.Name, URL: addressOf(&e), Referrer: e.Referrer, Address: e.Visitor, UserID: e.UserID, SessionID: e.Visit,
		Client: analytics.Client{
			Screen: e.Screen, Language: e.Language, Country: e.Country, Region: e.Region, City: e.City, Browser: e.Browser, OS: e.OS, Device: e.Device,
		},
	}
	if e.ID != "" {
		h.EventID = analytics.ContentID(e.At, []byte(e.ID), 0)
	}
	return h, anEvent, nil
}

// addressOf returns the URL of an event's page.
func addressOf(e *eventcsv.Event) string {
	url := cmp.Or(e.Path, "/")
	if e.Host != "" {
		url = "https://" + e.Host + url
	}
	if e.Query != "" {
		url += "?" + e.Query
	}
	return url
}
