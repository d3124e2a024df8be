package referral

import (
	"strings"
	"unicode/utf8"
)

// The bounds of a source's texts, in bytes. Longer ones are cut.
const (
	MaxReferrer = 256
	MaxText     = 128 // the others
)

// Source says where a visitor came from. Its tags are the names under which it is stored.
type Source struct {
	Referrer string `dynamodbav:"ref,omitempty"` // host and path of the referring page, without its query
	Name     string `dynamodbav:"source,omitempty"`
	Channel  string `dynamodbav:"channel,omitempty"`
	UTM
}

// UTM are the campaign parameters of a landing page's address.
type UTM struct {
	Source   string `dynamodbav:"utmS,omitempty"`
	Medium   string `dynamodbav:"utmM,omitempty"`
	Campaign string `dynamodbav:"utmC,omitempty"`
	Term     string `dynamodbav:"utmT,omitempty"`
	Content  string `dynamodbav:"utmN,omitempty"`
}

// Of says where the visitor of a page came from. A referrer on the site's own domains is no source: it is a step
// within a visit.
func Of(referrer string, page Address, domains []string) Source {
	var s Source
	c := parseCampaign(page.Query)
	s.UTM = c.UTM
	ref := Locate(referrer)
	if ref.Host == "" || !PlausibleHost(ref.Host) || ownHost(ref.Host, page.Host, domains) {
		ref = Address{}
	}
	if ref.Host != "" {
		s.Referrer = clip(ref.Host+strings.TrimSuffix(ref.Path, "/"), MaxReferrer)
	}
	known := c.click.origin
	switch {
	case s.UTM.Source != "":
		known = originNamed(s.UTM.Source)
	case known.name == "" && ref.Host != "":
		known = originOf(ref.Host)
	}
	s.Name = clip(known.name, MaxText)
	s.Channel = channelOf(known, c, ref.Host != "")
	return s
}

// ownHost reports whether a referring host is the site's own: the page's, one of the site's domains, or below one.
func ownHost(host, page string, domains []string) bool {
	return host == page || Within(host, domains)
}

// Within reports whether a host, as HostName gives it, is one of these domains or below one.
func Within(host string, domains []string) bool {
	for _, d := range domains {
		d = strings.TrimPrefix(d, "www.")
		if below, ok := strings.CutSuffix(host, d); ok && d != "" && (below == "" || strings.HasSuffix(below, ".")) {
			return true
		}
	}
	return false
}

// PlausibleHost reports whether a host, as HostName gives it, can be one: without what markup and other languages are made of.
// Addresses and referrers are anybody's to write.
func PlausibleHost(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '.', r == '_', r == ':', r == '[', r == ']', r > 0x9f:
			return false
		}
		return true
	})
}

// clip makes valid UTF-8 of a text and cuts it, between characters, to at most n bytes.
func clip(s string, n int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") // without the part of a character at the end
	}
	return s
}
