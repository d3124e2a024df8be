// Package ingestflags has the settings for the ingest of events, for every binary that accepts
// them.
package ingestflags

import (
	"fmt"
	"net/netip"

	"github.com/onefold/onefold/internal/geo"
	"github.com/onefold/onefold/server"
)

// Flags configure the ingest of events.
type Flags struct {
	TrustProxy   bool     `help:"Believe the X-Forwarded-For of a proxy in front, and the place that an edge tells." env:"ONEFOLD_TRUST_PROXY"`
	TrustedProxy []string `help:"Network of further proxies before the one in front, such as 10.0.0.0/8. Repeat or separate by commas." placeholder:"CIDR" env:"ONEFOLD_TRUSTED_PROXY"`
	Geo          string   `help:"Database of places in MaxMind's format (GeoLite2-City.mmdb)." type:"path" placeholder:"FILE" env:"ONEFOLD_GEO"`
	TrackerPath  string   `help:"Serve the tracker here, too, such as /js/numbers.js." placeholder:"PATH" env:"ONEFOLD_TRACKER_PATH"`
	EventPath    string   `help:"Take single events here, too; pages say so by data-api." placeholder:"PATH" env:"ONEFOLD_EVENT_PATH"`
	EventRate    float64  `help:"Events a second from one address, 20 times as many at once." default:"100" env:"ONEFOLD_EVENT_RATE"`
	SiteRate     float64  `help:"Events a second of one site, 10 times as many at once." default:"10000" env:"ONEFOLD_SITE_RATE"`
}

// largestBatch is the maximum number of events in a request. A rate limit always allows a burst of
// one full request per address.
const largestBatch = 1000

// Apply sets a server's options. places is nil without --geo; otherwise the caller runs it beside
// the server, and closes it afterwards.
func (f *Flags) Apply(o *server.Options) (places *geo.Live, err error) {
	a := &o.Analytics
	o.TrustProxy, a.TrackerPath, a.EventPath = f.TrustProxy, f.TrackerPath, f.EventPath
	a.EventRate, a.EventBurst, a.SiteRate = f.EventRate, max(int(20*f.EventRate), largestBatch), f.SiteRate
	for _, text := range f.TrustedProxy {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxy %s: use a network like 10.0.0.0/8", text)
		}
		o.Proxies = append(o.Proxies, network.Masked())
	}
	if f.Geo == "" {
		return nil, nil
	}
	places = geo.NewLive(f.Geo)
	a.Places = places
	return places, nil
}
