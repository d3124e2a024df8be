// Package ingestflags has the settings for the ingest of events, for every binary that accepts
// them.
package ingestflags

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/onefold/onefold/internal/blocklist"
	"github.com/onefold/onefold/internal/exchange"
	"github.com/onefold/onefold/internal/geo"
	"github.com/onefold/onefold/internal/livefile"
	"github.com/onefold/onefold/server"
)

// Flags configure the ingest of events.
type Flags struct {
	TrustProxy   bool     `help:"Trust X-Forwarded-For and the location headers of the proxy in front of this server." env:"ONEFOLD_TRUST_PROXY"`
	TrustedProxy []string `help:"Network of further proxies before that proxy, such as 10.0.0.0/8. Repeat or separate by commas." placeholder:"CIDR" env:"ONEFOLD_TRUSTED_PROXY"`
	Geo          string   `help:"MaxMind GeoIP database (.mmdb), such as GeoLite2-City.mmdb." type:"path" placeholder:"FILE" env:"ONEFOLD_GEO"`
	DataCenters  string   `name:"datacenter-ranges" help:"File with networks of data centers, one per line. Their events are filtered out." type:"path" placeholder:"FILE" env:"ONEFOLD_DATACENTER_RANGES"`
	Spam         string   `name:"referrer-spam" help:"File with domains of referrer spam, one per line. Events with such a referrer are filtered out." type:"path" placeholder:"FILE" env:"ONEFOLD_REFERRER_SPAM"`
	Rates        string   `name:"exchange-rates" help:"File with daily exchange rates in the format of the European Central Bank (eurofxref-hist.csv), to convert revenue in other currencies than the site's." type:"path" placeholder:"FILE" env:"ONEFOLD_EXCHANGE_RATES"`
	TrackerPath  string   `help:"Additional path to serve the tracker at, such as /js/numbers.js." placeholder:"PATH" env:"ONEFOLD_TRACKER_PATH"`
	EventPath    string   `help:"Additional path to accept single events at. Pages name it with data-api." placeholder:"PATH" env:"ONEFOLD_EVENT_PATH"`
	EventRate    float64  `help:"Maximum events per second from one address, with bursts of 20 times as many." default:"100" env:"ONEFOLD_EVENT_RATE"`
	SiteRate     float64  `help:"Maximum events per second of one site, with bursts of 10 times as many." default:"10000" env:"ONEFOLD_SITE_RATE"`
}

// largestBatch is the maximum number of events in a request. A rate limit always allows a burst of
// one full request per address.
const largestBatch = 1000

// File is a file of the operator that may be replaced while the server runs.
type File struct {
	Name  string                      // of the part of the server that reads it
	Look  func() error                // reads the file if it has changed
	Run   func(context.Context) error // calls Look from time to time, until the context ends
	Close func() error
}

// Apply sets a server's options. The caller runs the files alongside the server and closes them
// afterwards, or looks at each once.
func (f *Flags) Apply(o *server.Options) (files []File, err error) {
	a := &o.Analytics
	o.TrustProxy, a.TrackerPath, a.EventPath = f.TrustProxy, f.TrackerPath, f.EventPath
	a.EventRate, a.EventBurst, a.SiteRate = f.EventRate, max(int(20*f.EventRate), largestBatch), f.SiteRate
	for _, text := range f.TrustedProxy {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxy %s: use a network such as 10.0.0.0/8", text)
		}
		o.Proxies = append(o.Proxies, network.Masked())
	}
	none := func() error { return nil }
	if f.Geo != "" {
		a.Places = geo.NewLive(f.Geo)
		files = append(files, File{"geo", a.Places.Look, a.Places.Run, a.Places.Close})
	}
	if f.DataCenters != "" {
		a.DataCenters = livefile.New(f.DataCenters, blocklist.ReadNetworks)
		files = append(files, File{"datacenter-ranges", a.DataCenters.Look, a.DataCenters.Run, none})
	}
	if f.Spam != "" {
		a.Spam = livefile.New(f.Spam, blocklist.ReadDomains)
		files = append(files, File{"referrer-spam", a.Spam.Look, a.Spam.Run, none})
	}
	if f.Rates != "" {
		a.Rates = livefile.New(f.Rates, exchange.Read)
		files = append(files, File{"exchange-rates", a.Rates.Look, a.Rates.Run, none})
	}
	return files, nil
}
