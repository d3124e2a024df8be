package exports

import (
	"net/url"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/onefold/onefold/analytics/internal/dimension"
	"github.com/onefold/onefold/internal/referral"
)

// Limits of values in bytes, the same as for events. Longer values are cut.
const (
	maxPage  = 512
	maxURL   = 512
	maxName  = 120
	maxPlace = 64
	shown    = 60 // of unparsable input, in messages
)

// missing lists the words that exports use for a missing value.
var missing = map[string]bool{
	"": true, "(none)": true, "(not set)": true, "(not provided)": true, "(direct)": true, "Direct / None": true, "(data not available)": true,
}

// rest is the name that exports use for the sum of unnamed values.
const rest = "(other)"

// named returns a value in onefold's form, or "" if it is missing.
func named(d Dimension, text string) string {
	if text = strings.TrimSpace(text); missing[text] {
		return ""
	}
	switch d {
	case dimension.Page, dimension.EntryPage, dimension.ExitPage, dimension.NotFound:
		return pagePath(text)
	case dimension.Referrer:
		return referrer(text)
	case dimension.Outbound, dimension.Download:
		return clip(text, maxURL)
	case dimension.Source:
		return origin(referral.Source{UTM: referral.UTM{Source: text}}).Name
	case dimension.UTMSource, dimension.UTMMedium, dimension.UTMCampaign, dimension.UTMTerm, dimension.UTMContent:
		return clip(text, referral.MaxText)
	case dimension.Channel:
		return or(channels, text, maxPlace)
	case dimension.Country:
		return country(text)
	case dimension.Device:
		return or(devices, strings.ToLower(text), maxPlace)
	case dimension.OS:
		return or(systems, text, maxPlace)
	case dimension.Browser:
		return or(browsers, text, maxPlace)
	case dimension.Hostname:
		return clip(referral.HostName(text), maxURL)
	case dimension.EventName:
		return clip(text, maxName)
	}
	return clip(text, maxPlace)
}

// or returns the replacement of a name, or the name itself.
func or(names map[string]string, name string, most int) string {
	if other, ok := names[name]; ok {
		return other
	}
	return clip(name, most)
}

// pagePath returns the path of a page's URL or path, without the query.
func pagePath(text string) string {
	p := referral.Locate(text).Path
	if p == "" || p[0] != '/' {
		p = "/" + p
	}
	return clip(p, maxPage)
}

// referrer returns host and path of a referring page.
func referrer(text string) string {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	a := referral.Locate(text)
	return clip(a.Host+strings.TrimSuffix(a.Path, "/"), referral.MaxReferrer)
}

// origin returns the source of a visit and its channel, by the rules for events.
func origin(s referral.Source) referral.Source {
	query := url.Values{}
	for name, value := range map[string]string{"utm_source": s.UTM.Source, "utm_medium": s.Medium, "utm_campaign": s.Campaign, "utm_term": s.Term, "utm_content": s.Content} {
		if value != "" {
			query.Set(name, value)
		}
	}
	from := ""
	if s.Referrer != "" {
		from = "https://" + s.Referrer
	}
	return referral.Of(from, referral.Address{Query: query.Encode()}, nil)
}

// channels maps names of Google Analytics to onefold's, where they differ.
var channels = map[string]string{
	"Mobile Push Notifications": referral.ChannelPush, "Cross-network": referral.ChannelPaidOther, "Unassigned": referral.ChannelOtherCampaign,
	"Paid Other": referral.ChannelPaidOther, "AI Assistant": referral.ChannelAI,
}

var devices = map[string]string{"laptop": "desktop", "ultra-wide": "desktop", "ultrawide": "desktop", "smart tv": "tv", "smarttv": "tv"}

var systems = map[string]string{"Mac": "macOS", "Macintosh": "macOS", "Mac OS X": "macOS", "GNU/Linux": "Linux", "Ubuntu": "Linux", "Fedora": "Linux", "Debian": "Linux", "Chromium OS": "Chrome OS", "iPadOS": "iOS"}

var browsers = map[string]string{"Microsoft Edge": "Edge", "Samsung Browser": "Samsung Internet", "Safari (in-app)": "Safari", "Mobile Safari": "Safari", "MIUI Browser": "Miui Browser", "YaBrowser": "Yandex Browser", "Opera GX": "Opera", "Internet Explorer Mobile": "Internet Explorer"}

// country returns the ISO 3166-1 code for a code or English name, or the text itself if it is
// unknown.
func country(text string) string {
	if len(text) == 2 {
		return strings.ToUpper(text)
	}
	if code, ok := countryCodes()[strings.ToLower(text)]; ok {
		return code
	}
	return clip(text, maxPlace)
}

// countryCodes maps English country names in lower case to codes.
var countryCodes = sync.OnceValue(func() map[string]string {
	codes := map[string]string{"turkey": "TR", "türkiye": "TR", "united states of america": "US", "hong kong": "HK", "macao": "MO", "macau": "MO", "myanmar": "MM", "czech republic": "CZ", "côte d’ivoire": "CI", "bosnia & herzegovina": "BA", "palestine": "PS", "north macedonia": "MK"}
	names := display.English.Regions()
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			region, err := language.ParseRegion(string([]rune{a, b}))
			if err != nil || !region.IsCountry() || region.Canonicalize() != region {
				continue
			}
			if name := strings.ToLower(names.Name(region)); name != "" && codes[name] == "" {
				codes[name] = region.String()
			}
		}
	}
	return codes
})

// clip returns s as valid UTF-8 without control characters, cut between characters to at most n
// bytes.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	for n = min(n, len(s)); n > 0 && n < len(s) && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:n]
}
