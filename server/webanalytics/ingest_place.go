package webanalytics

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/onefold/onefold/internal/geo"
)

// edge has the names of the headers in which a content delivery network sends a visitor's location.
type edge struct {
	country, region, city string
	regionCode            bool // region is a code within the country, not a name
	escaped               bool // city is percent-encoded
}

// edges are the networks whose headers are trusted behind a proxy: Cloudflare with its "add visitor
// location headers", Vercel, CloudFront, and Fastly with the names of its VCL examples. The first
// one with a country is used.
var edges = [...]edge{
	{country: "CF-IPCountry", region: "CF-Region", city: "CF-IPCity"},
	{country: "X-Vercel-IP-Country", region: "X-Vercel-IP-Country-Region", city: "X-Vercel-IP-City", regionCode: true, escaped: true},
	{country: "CloudFront-Viewer-Country", region: "CloudFront-Viewer-Country-Region-Name", city: "CloudFront-Viewer-City"},
	{country: "X-Fastly-Country-Code", region: "X-Fastly-Region", city: "X-Fastly-City", regionCode: true},
}

// placeOf returns the location of a request: from the GeoIP database, or if that has none and a
// proxy is trusted, from the edge.
func (s *Service) placeOf(from *Sender) geo.Place {
	if s.o.Places != nil {
		if address, err := netip.ParseAddr(from.address); err == nil {
			if place := s.o.Places.Lookup(address); place.Country != "" {
				return place
			}
		}
	}
	if !s.mw.TrustProxy || from.header == nil {
		return geo.Place{}
	}
	return placeByEdge(from.header)
}

// placeByEdge returns the location in the headers of the first edge that names a country.
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

// countryCode returns a country code from an edge, or "" for values that are not countries: XX is
// unknown and T1 is Tor.
func countryCode(s string) string {
	s = strings.ToUpper(s)
	if len(s) != 2 || s == "XX" || s[0] < 'A' || s[0] > 'Z' || s[1] < 'A' || s[1] > 'Z' {
		return ""
	}
	return s
}
