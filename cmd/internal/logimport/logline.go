package logimport

import (
	"net/http"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/internal/useragent"
)

// verdict says whether a line is an event to import, and if not, why.
type verdict uint8

const (
	anEvent verdict = iota
	anAsset
	aBot
	otherHost
	noEvent // well formed, but not caused by a visitor
)

// translator converts the lines or rows of one file to hits.
type translator interface {
	// hit converts a line to a hit without an ID. It does not retain text. An error describes a
	// malformed line.
	hit(text []byte) (analytics.Hit, verdict, error)
}

// logLines converts lines of an access log to hits.
type logLines struct {
	parser *accesslog.Parser
	agents *useragent.Parser
	o      *Options
}

func (l *logLines) hit(text []byte) (h analytics.Hit, v verdict, err error) {
	e, err := l.parser.Parse(text)
	if err != nil {
		return h, noEvent, err
	}
	if len(l.o.Hosts) > 0 && !e.Time.IsZero() && !slices.ContainsFunc(l.o.Hosts, func(host string) bool { return strings.EqualFold(host, e.Host) }) {
		return h, otherHost, nil
	}
	if e.Method != http.MethodGet || (e.Status != http.StatusOK && e.Status != http.StatusNotModified) {
		return h, noEvent, nil
	}
	path, _ := accesslog.SplitTarget(e.Target)
	if !l.o.Assets && accesslog.IsAsset(path) {
		return h, anAsset, nil
	}
	agent := l.agents.Parse(e.UserAgent)
	if !l.o.Bots && agent.Bot {
		return h, aBot, nil
	}
	url := e.Target
	if e.Host != "" && strings.HasPrefix(url, "/") {
		url = "https://" + e.Host + url
	}
	return analytics.Hit{
		Imported: true, At: e.Time, URL: url, Referrer: e.Referrer, UserAgent: e.UserAgent, Address: e.Addr,
		Client: analytics.Client{Country: e.Country, Browser: agent.Browser, OS: agent.OS, Device: agent.Device},
	}, anEvent, nil
}
