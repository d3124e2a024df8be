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
	TrustProxy   bool     `help:"Trust X-Forwarded-For and the location headers of the proxy in front of this server." env:"ONEFOLD_TRUST_PROXY"`
	TrustedProxy []string `help:"Network of further proxies before that proxy, such as 10.0.0.0/8. Repeat or separate by commas." placeholder:"CIDR" env:"ONEFOLD_TRUSTED_PROXY"`
	Geo          string   `help:"MaxMind GeoIP database (.mmdb), such as GeoLite2-City.mmdb." type:"path" placeholder:"FILE" env:"ONEFOLD_GEO"`
	TrackerPath  string   `help:"Additional path to serve the tracker at, such as /js/numbers.js." placeholder:"PATH" env:"ONEFOLD_TRACKER_PATH"`
	EventPath    string   `help:"Additional path to accept single events at. Pages name it with data-api." placeholder:"PATH" env:"ONEFOLD_EVENT_PATH"`
	EventRate    float64  `help:"Maximum events per second from one address, with bursts of 20 times as many." default:"100" env:"ONEFOLD_EVENT_RATE"`
	SiteRate     float64  `help:"Maximum events per second of one site, with bursts of 10 times as many." default:"10000" env:"ONEFOLD_SITE_RATE"`
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
			return nil, fmt.Errorf("--trusted-proxy %s: use a network such as 10.0.0.0/8", text)
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
