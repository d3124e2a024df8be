package referral

import "strings"

// originKind is the kind of an origin.
type originKind uint8

const (
	kindSite originKind = iota // any other site
	kindSearch
	kindSocial
	kindVideo
	kindShopping
	kindEmail
	kindAI
)

// origin is where visitors come from, with the name that people know it by.
type origin struct {
	name string
	kind originKind
}

// originOf returns the origin of a referring host: a known one, or the host itself.
func originOf(host string) origin {
	for rest := host; rest != ""; {
		if o, ok := origins[rest]; ok {
			return o
		}
		label, after, _ := strings.Cut(rest, ".")
		if o, ok := brands[label]; ok && countrySuffix(after) {
			return o
		}
		rest = after
	}
	return origin{name: host}
}

// originNamed returns the origin that a campaign's source names.
func originNamed(source string) origin {
	lower := strings.ToLower(strings.TrimSpace(source))
	if o, ok := aliases[lower]; ok {
		return o
	}
	if o, ok := brands[lower]; ok {
		return o
	}
	if strings.Contains(lower, ".") {
		if o := originOf(HostName(lower)); o.kind != kindSite {
			return o
		}
	}
	return origin{name: source}
}

// countrySuffix reports whether the rest of a host is a suffix as brands use in many countries:
// com, de, co.uk, com.br.
func countrySuffix(s string) bool {
	first, second, two := strings.Cut(s, ".")
	short := func(s string) bool { return len(s) == 2 || len(s) == 3 }
	return short(first) && (!two || len(second) == 2)
}

// brands have hosts in many countries.
var brands = map[string]origin{
	"google": {"Google", kindSearch}, "bing": {"Bing", kindSearch}, "yahoo": {"Yahoo!", kindSearch},
	"yandex": {"Yandex", kindSearch}, "baidu": {"Baidu", kindSearch}, "duckduckgo": {"DuckDuckGo", kindSearch},
	"ecosia": {"Ecosia", kindSearch}, "qwant": {"Qwant", kindSearch}, "startpage": {"Startpage", kindSearch},
	"naver": {"Naver", kindSearch}, "seznam": {"Seznam", kindSearch}, "sogou": {"Sogou", kindSearch}, "ask": {"Ask", kindSearch},
	"facebook": {"Facebook", kindSocial}, "instagram": {"Instagram", kindSocial}, "linkedin": {"LinkedIn", kindSocial},
	"pinterest": {"Pinterest", kindSocial}, "reddit": {"Reddit", kindSocial}, "twitter": {"Twitter/X", kindSocial},
	"tiktok": {"TikTok", kindVideo}, "youtube": {"YouTube", kindVideo}, "vimeo": {"Vimeo", kindVideo}, "twitch": {"Twitch", kindVideo},
	"amazon": {"Amazon", kindShopping}, "ebay": {"eBay", kindShopping}, "etsy": {"Etsy", kindShopping},
	"chatgpt": {"ChatGPT", kindAI}, "perplexity": {"Perplexity", kindAI}, "claude": {"Claude", kindAI}, "gemini": {"Gemini", kindAI},
}

// origins are hosts, with their subdomains, that belong to no brand or to another part of a brand.
var origins = map[string]origin{
	"search.brave.com": {"Brave", kindSearch}, "kagi.com": {"Kagi", kindSearch}, "search.aol.com": {"AOL", kindSearch},
	"so.com": {"360 Search", kindSearch}, "mojeek.com": {"Mojeek", kindSearch}, "you.com": {"You.com", kindAI},
	"com.google.android.googlequicksearchbox": {"Google", kindSearch}, "dogpile.com": {"Dogpile", kindSearch},

	"t.co": {"Twitter/X", kindSocial}, "x.com": {"Twitter/X", kindSocial}, "com.twitter.android": {"Twitter/X", kindSocial},
	"news.ycombinator.com": {"Hacker News", kindSocial}, "hckrnews.com": {"Hacker News", kindSocial}, "lobste.rs": {"Lobsters", kindSocial},
	"redd.it": {"Reddit", kindSocial}, "com.reddit.frontpage": {"Reddit", kindSocial},
	"fb.com": {"Facebook", kindSocial}, "fb.me": {"Facebook", kindSocial}, "messenger.com": {"Facebook", kindSocial},
	"threads.net": {"Threads", kindSocial}, "threads.com": {"Threads", kindSocial}, "lnkd.in": {"LinkedIn", kindSocial},
	"com.linkedin.android": {"LinkedIn", kindSocial}, "pin.it": {"Pinterest", kindSocial},
	"bsky.app": {"Bluesky", kindSocial}, "mastodon.social": {"Mastodon", kindSocial}, "vk.com": {"VK", kindSocial},
	"weibo.com": {"Weibo", kindSocial}, "weixin.qq.com": {"WeChat", kindSocial}, "t.me": {"Telegram", kindSocial},
	"org.telegram.messenger": {"Telegram", kindSocial}, "web.telegram.org": {"Telegram", kindSocial},
	"whatsapp.com": {"WhatsApp", kindSocial}, "wa.me": {"WhatsApp", kindSocial}, "discord.com": {"Discord", kindSocial},
	"slack.com": {"Slack", kindSocial}, "com.slack": {"Slack", kindSocial}, "quora.com": {"Quora", kindSocial},
	"tumblr.com": {"Tumblr", kindSocial}, "medium.com": {"Medium", kindSocial}, "stackoverflow.com": {"Stack Overflow", kindSocial},
	"snapchat.com": {"Snapchat", kindSocial}, "xing.com": {"Xing", kindSocial}, "dev.to": {"DEV", kindSocial},

	"youtu.be": {"YouTube", kindVideo}, "dailymotion.com": {"Dailymotion", kindVideo}, "bilibili.com": {"Bilibili", kindVideo},
	"netflix.com": {"Netflix", kindVideo}, "twitch.tv": {"Twitch", kindVideo},

	"mail.google.com": {"Gmail", kindEmail}, "com.google.android.gm": {"Gmail", kindEmail}, "mail.yahoo.com": {"Yahoo! Mail", kindEmail},
	"outlook.live.com": {"Outlook", kindEmail}, "outlook.office.com": {"Outlook", kindEmail}, "outlook.office365.com": {"Outlook", kindEmail},
	"mail.proton.me": {"Proton Mail", kindEmail}, "app.fastmail.com": {"Fastmail", kindEmail}, "mail.yandex.ru": {"Yandex Mail", kindEmail},
	"deref-gmx.net": {"GMX", kindEmail}, "mail.aol.com": {"AOL Mail", kindEmail},

	"chat.openai.com": {"ChatGPT", kindAI}, "openai.com": {"ChatGPT", kindAI}, "claude.ai": {"Claude", kindAI},
	"gemini.google.com": {"Gemini", kindAI}, "bard.google.com": {"Gemini", kindAI}, "perplexity.ai": {"Perplexity", kindAI},
	"copilot.microsoft.com": {"Copilot", kindAI}, "copilot.com": {"Copilot", kindAI}, "chat.deepseek.com": {"DeepSeek", kindAI},
	"chat.mistral.ai": {"Le Chat", kindAI}, "grok.com": {"Grok", kindAI}, "meta.ai": {"Meta AI", kindAI}, "poe.com": {"Poe", kindAI},
	"phind.com": {"Phind", kindAI}, "copilot.cloud.microsoft": {"Copilot", kindAI}, "m365.cloud.microsoft": {"Copilot", kindAI},
	"notebooklm.google.com": {"NotebookLM", kindAI}, "aistudio.google.com": {"Gemini", kindAI}, "deepseek.com": {"DeepSeek", kindAI},
	"chat.qwen.ai": {"Qwen", kindAI}, "kimi.com": {"Kimi", kindAI}, "doubao.com": {"Doubao", kindAI}, "duck.ai": {"Duck.ai", kindAI},
	"chat.z.ai": {"Z.ai", kindAI}, "pi.ai": {"Pi", kindAI}, "com.openai.chatgpt": {"ChatGPT", kindAI},
	"com.anthropic.claude": {"Claude", kindAI}, "ai.perplexity.app.android": {"Perplexity", kindAI},

	"news.google.com": {"Google News", kindSite}, "docs.google.com": {"Google Docs", kindSite}, "github.com": {"GitHub", kindSite},
	"shopping.google.com": {"Google Shopping", kindShopping}, "aliexpress.com": {"AliExpress", kindShopping},
	"walmart.com": {"Walmart", kindShopping}, "temu.com": {"Temu", kindShopping}, "wikipedia.org": {"Wikipedia", kindSite},
}

// aliases are the names that campaigns use for origins.
var aliases = map[string]origin{
	"adwords": {"Google", kindSearch}, "googleads": {"Google", kindSearch}, "google-ads": {"Google", kindSearch},
	"fb": {"Facebook", kindSocial}, "ig": {"Instagram", kindSocial}, "meta": {"Facebook", kindSocial},
	"x": {"Twitter/X", kindSocial}, "hackernews": {"Hacker News", kindSocial}, "hn": {"Hacker News", kindSocial},
	"threads": {"Threads", kindSocial}, "bluesky": {"Bluesky", kindSocial}, "mastodon": {"Mastodon", kindSocial},
	"telegram": {"Telegram", kindSocial}, "whatsapp": {"WhatsApp", kindSocial}, "discord": {"Discord", kindSocial},
	"yt": {"YouTube", kindVideo}, "openai": {"ChatGPT", kindAI}, "copilot": {"Copilot", kindAI},
	"grok": {"Grok", kindAI}, "deepseek": {"DeepSeek", kindAI}, "mistral": {"Le Chat", kindAI},
	"email": {"Email", kindEmail}, "e-mail": {"Email", kindEmail}, "newsletter": {"Newsletter", kindEmail}, "mail": {"Email", kindEmail},
}
