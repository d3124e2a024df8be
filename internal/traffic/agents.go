package traffic

import (
	"strconv"
	"strings"
)

// agent is a browser on a device.
type agent struct {
	userAgent string
	screens   []string
}

var (
	desktopScreens = []string{"1920x1080", "1920x1080", "1366x768", "1536x864", "2560x1440", "1440x900", "3840x2160"}
	macScreens     = []string{"1440x900", "1512x982", "1728x1117", "2560x1440"}
	iPhoneScreens  = []string{"390x844", "393x852", "430x932", "375x812", "402x874"}
	androidScreens = []string{"360x800", "412x915", "384x832", "393x873", "360x780"}
	tabletScreens  = []string{"820x1180", "768x1024", "1024x1366", "800x1280"}
)

const (
	windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/V.0.0.0 Safari/537.36"
	mac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/V.0.0.0 Safari/537.36"
	linux   = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/V.0.0.0 Safari/537.36"
	android = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/V.0.0.0 Mobile Safari/537.36"
	iPhone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
)

// families are browsers with their newest version; V stands for the version.
var families = [...]struct {
	weight    float64
	userAgent string
	newest    int
	screens   []string
}{
	{22, windows, 148, desktopScreens},
	{8, mac, 148, macScreens},
	{3, linux, 148, desktopScreens},
	{7, windows + " Edg/V.0.0.0", 148, desktopScreens},
	{1.5, windows + " OPR/V.0.0.0", 126, desktopScreens},
	{1, "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/V.0.0.0 Safari/537.36", 148, desktopScreens},
	{4, "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:V.0) Gecko/20100101 Firefox/V.0", 150, desktopScreens},
	{2, "Mozilla/5.0 (X11; Linux x86_64; rv:V.0) Gecko/20100101 Firefox/V.0", 150, desktopScreens},
	{1, "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:V.0) Gecko/20100101 Firefox/V.0", 150, macScreens},
	{7, "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/V.4 Safari/605.1.15", 26, macScreens},
	{17, iPhone + "Version/V.5 Mobile/15E148 Safari/604.1", 26, iPhoneScreens},
	{2, iPhone + "CriOS/V.0.7151.79 Mobile/15E148 Safari/604.1", 148, iPhoneScreens},
	{1, iPhone + "GSA/V.0.778322870 Mobile/15E148 Safari/604.1", 378, iPhoneScreens},
	{1, iPhone + "Mobile/15E148 Instagram V.0.0.28.85 (iPhone14,5; iOS 18_5; en_US; en; scale=3.00; 1170x2532)", 384, iPhoneScreens},
	{16, android, 148, androidScreens},
	{3, "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/V.0 Chrome/136.0.0.0 Mobile Safari/537.36", 29, androidScreens},
	{1, "Mozilla/5.0 (Android 15; Mobile; rv:V.0) Gecko/V.0 Firefox/V.0", 150, androidScreens},
	{2, "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/V.5 Mobile/15E148 Safari/604.1", 26, tabletScreens},
	{1, "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/V.0.0.0 Safari/537.36", 148, tabletScreens},
}

// newAgents spreads every family over its last versions, half of it on the newest.
func newAgents() choice[agent] {
	var of []weighted[agent]
	for _, f := range families {
		for age, part := range [...]float64{0.5, 0.25, 0.15, 0.1} {
			ua := strings.ReplaceAll(f.userAgent, "V.", strconv.Itoa(f.newest-age)+".")
			of = append(of, weighted[agent]{f.weight * part, agent{ua, f.screens}})
		}
	}
	return newChoice(of)
}

var botAgents = []weighted[string]{
	{24, "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
	{12, "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/136.0.0.0 Safari/537.36"},
	{10, "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)"},
	{8, "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)"},
	{8, "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"},
	{8, "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)"},
	{4, "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)"},
	{4, "CCBot/2.0 (https://commoncrawl.org/faq/)"},
	{4, "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)"},
	{4, "Feedly/1.0 (+http://www.feedly.com/fetcher.html; 37 subscribers; like FeedFetcher-Google)"},
	{3, "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"},
	{3, "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)"},
	{3, "python-requests/2.32.3"},
	{2, "Go-http-client/2.0"},
	{2, "curl/8.5.0"},
	{1, ""},
}
