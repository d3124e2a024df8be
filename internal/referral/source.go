package referral

import (
	"strings"
	"unicode/utf8"
)

// Limits of a source's texts, in bytes. Longer texts are cut.
const (
	MaxReferrer = 256
	MaxText     = 128 // of the others
)

// Source is where a visitor came from. Its tags are the names under which it is stored.
type Source struct {
	Referrer string `dynamodbav:"ref,omitempty"` // host and path of the referring page, without its query
	Name     string `dynamodbav:"source,omitempty"`
	Channel  string `dynamodbav:"channel,omitempty"`
	UTM
}

// UTM has the campaign parameters of a landing page's URL.
type UTM struct {
	Source   string `dynamodbav:"utmS,omitempty"`
	Medium   string `dynamodbav:"utmM,omitempty"`
	Campaign string `dynamodbav:"utmC,omitempty"`
	Term     string `dynamodbav:"utmT,omitempty"`
	Content  string `dynamodbav:"utmN,omitempty"`
}

// Of returns where the visitor of a page came from. A referrer on the site's own domains is not a
// source, but a step within a visit.
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

// ownHost reports whether a referring host belongs to the site: the page's host, one of the site's
// domains, or a subdomain.
func ownHost(host, page string, domains []string) bool {
	return host == page || Within(host, domains)
}

// Within reports whether a host, as returned by HostName, is one of these domains or a subdomain.
func Within(host string, domains []string) bool {
	for _, d := range domains {
		d = strings.TrimPrefix(d, "www.")
		if below, ok := strings.CutSuffix(host, d); ok && d != "" && (below == "" || strings.HasSuffix(below, ".")) {
			return true
		}
	}
	return false
}

// PlausibleHost reports whether a text, as returned by HostName, can be a host: whether it is free
// of the characters of markup and other languages. Anyone can send URLs and referrers.
func PlausibleHost(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '.', r == '_', r == ':', r == '[', r == ']', r > 0x9f:
			return false
		}
		return true
	})
}

// clip returns valid UTF-8 of at most n bytes, cut between characters.
func clip(s string, n int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") // drops an incomplete last character
	}
	return s
}
