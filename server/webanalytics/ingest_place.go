package webanalytics

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/onefold/onefold/internal/geo"
)

// edge is what a content delivery network calls the headers in which it tells a visitor's place.
type edge struct {
	country, region, city string
	regionCode            bool // region is a code within the country, not a name
	escaped               bool // city is percent-encoded
}

// edges are those whose headers are believed behind a proxy: Cloudflare with its "add visitor location headers", Vercel,
// CloudFront, and Fastly as its examples of VCL name them. The first that names a country counts.
var edges = [...]edge{
	{country: "CF-IPCountry", region: "CF-Region", city: "CF-IPCity"},
	{country: "X-Vercel-IP-Country", region: "X-Vercel-IP-Country-Region", city: "X-Vercel-IP-City", regionCode: true, escaped: true},
	{country: "CloudFront-Viewer-Country", region: "CloudFront-Viewer-Country-Region-Name", city: "CloudFront-Viewer-City"},
	{country: "X-Fastly-Country-Code", region: "X-Fastly-Region", city: "X-Fastly-City", regionCode: true},
}

// placeOf is where a request comes from: as the database says or, where it says nothing and a proxy is trusted, the edge.
func (s *Service) placeOf(from *Sender) geo.Place {
	if s.o.Places != nil {
		if address, err := netip.ParseAddr(from.address); err == nil {
			if place := s.o.Places.Lookup(address); place.Country != "" {
				return place
			}
		}
	}
	if !s.door.TrustProxy || from.header == nil {
		return geo.Place{}
	}
	return placeByEdge(from.header)
}

func placeByEdge(header func(string) string) geo.Place {
	for i := range edges {
		e := &edges[i]
		country := countryCode(header(e.country))
		if country == "" {
			continue
		}
		p := geo.Place{Country: country, Region: header(e.region), City: header(e.city)}
		if e.regionCode && p.Region != "" {
			p.Region = country + "-" + p.Region
		}
		if e.escaped {
			if plain, err := url.PathUnescape(p.City); err == nil {
				p.City = plain
			}
		}
		return p
	}
	return geo.Place{}
}

// countryCode is a country as an edge names it; empty for what is none: XX is unknown and T1 is Tor.
func countryCode(s string) string {
	s = strings.ToUpper(s)
	if len(s) != 2 || s == "XX" || s[0] < 'A' || s[0] > 'Z' || s[1] < 'A' || s[1] > 'Z' {
		return ""
	}
	return s
}
