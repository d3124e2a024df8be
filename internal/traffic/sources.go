package traffic

import "strings"

// UTM are the campaign parameters of a link (those of Google's Urchin Tracking Module).
type UTM struct{ Source, Medium, Campaign, Term, Content string }

// query returns the parameters as a URL query. Their values need no escaping.
func (u UTM) query() string {
	var b strings.Builder
	for _, p := range [...]struct{ name, value string }{
		{"utm_source", u.Source}, {"utm_medium", u.Medium}, {"utm_campaign", u.Campaign}, {"utm_term", u.Term}, {"utm_content", u.Content},
	} {
		if p.value == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p.name + "=" + p.value)
	}
	return b.String()
}

// source is where a visit comes from.
type source struct {
	referrer string
	utm      UTM
	query    string // of utm
}

var sources = []weighted[source]{
	// Typed, bookmarked, or without a referrer.
	{32, source{}},
	// Search engines.
	{25, source{referrer: "https://www.google.com/"}},
	{1.5, source{referrer: "https://www.google.de/"}},
	{4, source{referrer: "https://www.bing.com/"}},
	{4, source{referrer: "https://duckduckgo.com/"}},
	{1, source{referrer: "https://www.ecosia.org/"}},
	{1, source{referrer: "https://yandex.ru/"}},
	{0.5, source{referrer: "https://search.yahoo.com/"}},
	{0.5, source{referrer: "https://www.baidu.com/link"}},
	// Social networks.
	{3, source{referrer: "https://t.co/"}},
	{3, source{referrer: "https://www.reddit.com/"}},
	{2, source{referrer: "https://www.linkedin.com/"}},
	{2, source{referrer: "https://l.facebook.com/"}},
	{1, source{referrer: "https://mastodon.social/"}},
	{1, source{referrer: "https://bsky.app/"}},
	{1, source{referrer: "https://www.youtube.com/"}},
	// News, and sites about technology.
	{4, source{referrer: "https://news.ycombinator.com/item?id=40000001"}},
	{4, source{referrer: "https://github.com/"}},
	{1, source{referrer: "https://lobste.rs/"}},
	{1, source{referrer: "https://dev.to/"}},
	{1, source{referrer: "https://stackoverflow.com/"}},
	// Assistants.
	{3, source{referrer: "https://chatgpt.com/", utm: UTM{Source: "chatgpt.com"}}},
	{1, source{referrer: "https://www.perplexity.ai/"}},
	{1, source{referrer: "https://claude.ai/"}},
	{0.7, source{referrer: "https://gemini.google.com/"}},
	{0.3, source{referrer: "https://copilot.microsoft.com/"}},
	// Campaigns.
	{3, source{referrer: "https://www.google.com/", utm: UTM{"google", "cpc", "brand", "onefold", "headline-a"}}},
	{2, source{referrer: "https://www.google.com/", utm: UTM{"google", "cpc", "web-analytics", "cookieless+analytics", "headline-b"}}},
	{3, source{utm: UTM{Source: "newsletter", Medium: "email", Campaign: "monthly-digest", Content: "top-story"}}},
	{1, source{utm: UTM{Source: "newsletter", Medium: "email", Campaign: "spring-launch", Content: "button"}}},
	{1.5, source{referrer: "https://www.linkedin.com/", utm: UTM{Source: "linkedin", Medium: "paid-social", Campaign: "spring-launch"}}},
	{1, source{referrer: "https://partner.example.net/", utm: UTM{Source: "partner", Medium: "referral", Campaign: "integration"}}},
}

func newSources(sources []weighted[source]) choice[source] {
	of := make([]weighted[source], 0, len(sources))
	for _, w := range sources {
		w.value.query = w.value.utm.query()
		of = append(of, w)
	}
	return newChoice(of)
}

// custom is a custom event.
type custom struct {
	name       string
	properties map[string]string // must not be modified
	cents      int64
}

var customs = []weighted[custom]{
	{20, custom{name: "signup", properties: map[string]string{"plan": "free"}}},
	{8, custom{name: "signup", properties: map[string]string{"plan": "pro"}}},
	{3, custom{name: "purchase", properties: map[string]string{"plan": "pro", "interval": "month"}, cents: 1900}},
	{1, custom{name: "purchase", properties: map[string]string{"plan": "pro", "interval": "year"}, cents: 19000}},
	{1, custom{name: "purchase", properties: map[string]string{"plan": "team", "interval": "month"}, cents: 9900}},
	{12, custom{name: "download", properties: map[string]string{"os": "linux", "url": "https://example.com/files/app-linux.tar.gz"}}},
	{8, custom{name: "download", properties: map[string]string{"os": "macos", "url": "https://example.com/files/app-macos.dmg"}}},
	{14, custom{name: "newsletter"}},
	{18, custom{name: "outbound", properties: map[string]string{"url": "https://github.com/"}}},
	{15, custom{name: "search", properties: map[string]string{"results": "some"}}},
}
