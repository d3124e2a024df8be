package referral

import (
	"strings"
	"testing"
	"unicode/utf8"
)

var sourceCases = []struct{ referrer, page, name, channel string }{
	{"", "/", "", ChannelDirect},
	{"https://example.com/other", "/", "", ChannelDirect},
	{"https://www.example.com/", "/", "", ChannelDirect},
	{"https://blog.example.com:8080/x", "/", "", ChannelDirect},
	{"https://notexample.com/", "/", "notexample.com", ChannelReferral},
	{"https://preview.test/", "https://preview.test/a", "", ChannelDirect},

	{"https://www.google.com/", "/", "Google", ChannelSearch},
	{"https://www.google.co.uk/search?q=x", "/", "Google", ChannelSearch},
	{"https://google.evil.example/", "/", "google.evil.example", ChannelReferral},
	{"android-app://com.google.android.googlequicksearchbox/", "/", "Google", ChannelSearch},
	{"https://www.bing.com/", "/", "Bing", ChannelSearch},
	{"https://duckduckgo.com/", "/", "DuckDuckGo", ChannelSearch},
	{"https://search.brave.com/search", "/", "Brave", ChannelSearch},
	{"https://news.google.com/articles/1", "/", "Google News", ChannelReferral},
	{"https://mail.google.com/", "/", "Gmail", ChannelEmail},

	{"https://t.co/abc", "/", "Twitter/X", ChannelSocial},
	{"https://x.com/a/status/1", "/", "Twitter/X", ChannelSocial},
	{"https://netx.com/", "/", "netx.com", ChannelReferral},
	{"https://old.reddit.com/r/golang", "/", "Reddit", ChannelSocial},
	{"https://news.ycombinator.com/item?id=1", "/", "Hacker News", ChannelSocial},
	{"https://l.facebook.com/l.php", "/", "Facebook", ChannelSocial},
	{"https://m.youtube.com/watch", "/", "YouTube", ChannelVideo},
	{"https://www.amazon.de/dp/1", "/", "Amazon", ChannelShopping},

	{"https://chatgpt.com/", "/", "ChatGPT", ChannelAI},
	{"https://chat.openai.com/", "/", "ChatGPT", ChannelAI},
	{"https://www.perplexity.ai/", "/", "Perplexity", ChannelAI},
	{"https://gemini.google.com/app", "/", "Gemini", ChannelAI},
	{"", "/?utm_source=chatgpt.com", "ChatGPT", ChannelAI},
	{"", "/?utm_source=perplexity", "Perplexity", ChannelAI},
	{"https://claude.ai/chat/1", "/", "Claude", ChannelAI},
	{"https://copilot.microsoft.com/", "/", "Copilot", ChannelAI},
	{"https://m365.cloud.microsoft/chat", "/", "Copilot", ChannelAI},
	{"https://grok.com/", "/", "Grok", ChannelAI},
	{"android-app://com.openai.chatgpt/", "/", "ChatGPT", ChannelAI},

	{"https://blog.net/post", "/", "blog.net", ChannelReferral},
	{"https://user:pw@Blog.NET:8443/post/", "/", "blog.net", ChannelReferral},

	{"", "/?utm_source=newsletter&utm_medium=email", "Newsletter", ChannelEmail},
	{"", "/?utm_source=Spring%20mail&utm_medium=e-mail", "Spring mail", ChannelEmail},
	{"", "/?utm_source=google&utm_medium=cpc", "Google", ChannelPaidSearch},
	{"https://www.google.com/", "/?gclid=abc", "Google", ChannelPaidSearch},
	{"", "/?utm_source=fb&utm_medium=paid_social", "Facebook", ChannelPaidSocial},
	{"https://l.facebook.com/", "/?fbclid=abc", "Facebook", ChannelSocial},
	{"", "/?msclkid=1", "Bing", ChannelPaidSearch},
	{"", "/?ttclid=1", "TikTok", ChannelPaidVideo},
	{"", "/?li_fat_id=1", "LinkedIn", ChannelPaidSocial},
	{"", "/?wbraid=1", "Google", ChannelPaidSearch},
	{"", "/?dclid=1", "Google", ChannelPaidOther},
	{"", "/?mc_cid=1", "Mailchimp", ChannelEmail},
	{"", "/?utm_source=partner&utm_medium=affiliate", "partner", ChannelAffiliates},
	{"", "/?utm_source=network&utm_medium=cpm", "network", ChannelDisplay},
	{"", "/?utm_source=network&utm_medium=cpa", "network", ChannelPaidOther},
	{"", "/?utm_source=youtube&utm_medium=cpv", "YouTube", ChannelPaidVideo},
	{"", "/?utm_campaign=x", "", ChannelOtherCampaign},
	{"", "/?ref=producthunt", "producthunt", ChannelOtherCampaign},
	{"", "/?ref=a&utm_source=hn", "Hacker News", ChannelSocial},
	{"", "/?utm_source=%zz", "%zz", ChannelOtherCampaign},
	{"javascript:alert(1)", "/", "", ChannelDirect},
	{"data:text/html,<script>alert(1)</script>", "/", "", ChannelDirect},
	{`https://"><script>alert(1)</script>.net/`, "/", "", ChannelDirect},
	{"javascript://blog.net/%0aalert(1)", "/", "blog.net", ChannelReferral},
	{"https://", "/?&&=&utm_source", "", ChannelDirect},
}

func TestOf(t *testing.T) {
	for _, c := range sourceCases {
		got := Of(c.referrer, Locate(c.page), []string{"example.com", "shop.example.org"})
		if got.Name != c.name || got.Channel != c.channel {
			t.Errorf("%s to %s: %q by %s, want %q by %s", c.referrer, c.page, got.Name, got.Channel, c.name, c.channel)
		}
	}
}

func TestCampaignParameters(t *testing.T) {
	c := parseCampaign("a=b&utm_source=s+1&utm_medium=m&utm_campaign=c%26d&utm_term=t&utm_content=n&source=ignored")
	if want := (UTM{"s 1", "m", "c&d", "t", "n"}); c.UTM != want {
		t.Errorf("%+v, want %+v", c.UTM, want)
	}
}

func TestLocate(t *testing.T) {
	for address, want := range map[string]Address{
		"https://www.Example.com:443/a/b?x=1#y": {"example.com", "/a/b", "x=1"},
		"http://example.com":                    {"example.com", "", ""},
		"http://[2001:db8::1]:80/x":             {"[2001:db8::1]", "/x", ""},
		"/a?b#c?d":                              {"", "/a", "b"},
		"":                                      {},
	} {
		if got := Locate(address); got != want {
			t.Errorf("%q: %+v, want %+v", address, got, want)
		}
	}
}

// For any input, a source's texts are valid UTF-8 within their limits.
func TestTextsAreBounded(t *testing.T) {
	long := strings.Repeat("é", MaxReferrer)
	for _, odd := range []string{long, "x" + long, "\xff" + long, strings.Repeat("\xc3x", MaxReferrer)} {
		address := Address{Path: "/", Query: "utm_source=" + odd + "&utm_term=" + odd}
		s := Of("https://blog.net/"+odd, address, nil)
		for i, text := range []string{s.Referrer, s.Name, s.UTM.Source, s.Term} {
			most := MaxText
			if i == 0 {
				most = MaxReferrer
			}
			if len(text) > most || len(text) < most-3 || !utf8.ValidString(text) {
				t.Errorf("%q… is cut to %d bytes, %q", odd[:4], len(text), text)
			}
		}
	}
}
