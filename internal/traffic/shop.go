package traffic

import (
	"fmt"
	"strings"
)

var shopPages = [...]page{
	{"/", "Tea and what it needs", 24_310},
	{"/tea/green", "Green tea", 19_004},
	{"/tea/black", "Black tea", 18_777},
	{"/sale", "Sale", 21_562},
	{"/teapots", "Teapots", 17_230},
	{"/cart", "Your basket", 9_482},
	{"/tea/herbal", "Herbal tea", 16_908},
	{"/checkout", "Checkout", 12_116},
	{"/gifts", "Gifts", 15_331},
	{"/shipping", "Shipping and returns", 8_245},
	{"/about", "About us", 7_903},
	{"/account", "Your account", 9_027},
}

var (
	teas   = [...]string{"sencha", "assam", "darjeeling", "earl-grey", "gyokuro", "oolong", "peppermint", "rooibos", "genmaicha", "lapsang", "jasmine", "chamomile"}
	grades = [...]string{"first-flush", "organic", "classic", "reserve", "garden"}
	packs  = [...]string{"50g", "100g", "250g", "tin", "gift-box"}
)

// productAt returns the product with an index.
func productAt(i int) page {
	const combinations = len(teas) * len(grades) * len(packs)
	j := i * 77 % combinations // 77 and 300 are coprime, so that all combinations occur before one repeats
	slug := teas[j%len(teas)] + "-" + grades[j/len(teas)%len(grades)] + "-" + packs[j/len(teas)/len(grades)]
	if round := i / combinations; round > 0 {
		slug = fmt.Sprintf("%s-%d", slug, round+1)
	}
	return page{"/products/" + slug, strings.ToUpper(slug[:1]) + strings.ReplaceAll(slug[1:], "-", " "), 9_000 + i*6151%20_000}
}

// Peaks are in the evening, from Europe to America, and at weekends.
var (
	shopDaily  = [24]float64{52, 40, 30, 22, 18, 18, 24, 36, 48, 56, 62, 68, 76, 72, 68, 70, 78, 92, 112, 130, 138, 128, 102, 74}
	shopWeekly = [7]float64{136, 92, 88, 90, 94, 102, 118}
)

var shopCustoms = []weighted[custom]{
	{34, custom{name: "add_to_cart", properties: map[string]string{"category": "tea"}}},
	{14, custom{name: "add_to_cart", properties: map[string]string{"category": "teapots"}}},
	{6, custom{name: "add_to_cart", properties: map[string]string{"category": "gifts"}}},
	{7, custom{name: "purchase", properties: map[string]string{"category": "tea", "payment": "card"}, cents: 1890}},
	{5, custom{name: "purchase", properties: map[string]string{"category": "tea", "payment": "paypal"}, cents: 3450}},
	{2, custom{name: "purchase", properties: map[string]string{"category": "teapots", "payment": "card"}, cents: 7900}},
	{1, custom{name: "purchase", properties: map[string]string{"category": "gifts", "payment": "invoice"}, cents: 12900}},
	{16, custom{name: "search", properties: map[string]string{"results": "some"}}},
	{4, custom{name: "search", properties: map[string]string{"results": "none"}}},
	{6, custom{name: "newsletter"}},
}

var shopSources = []weighted[source]{
	{24, source{}},
	{18, source{referrer: "https://www.google.com/"}},
	{2, source{referrer: "https://www.bing.com/"}},
	{2, source{referrer: "https://duckduckgo.com/"}},
	{9, source{referrer: "https://www.instagram.com/"}},
	{4, source{referrer: "https://www.pinterest.com/"}},
	{3, source{referrer: "https://www.facebook.com/"}},
	{2, source{referrer: "https://www.youtube.com/"}},
	{1.5, source{referrer: "https://www.reddit.com/"}},
	{2.5, source{referrer: "https://chatgpt.com/", utm: UTM{Source: "chatgpt.com"}}},
	{0.8, source{referrer: "https://www.perplexity.ai/"}},
	{0.5, source{referrer: "https://gemini.google.com/"}},
	{8, source{referrer: "https://www.google.com/", utm: UTM{"google", "cpc", "shopping", "loose+leaf+tea", "feed"}}},
	{6, source{referrer: "https://www.instagram.com/", utm: UTM{Source: "instagram", Medium: "paid-social", Campaign: "autumn-blends", Content: "video"}}},
	{5, source{utm: UTM{Source: "newsletter", Medium: "email", Campaign: "weekend-offer", Content: "hero"}}},
	{2, source{utm: UTM{Source: "newsletter", Medium: "email", Campaign: "back-in-stock"}}},
	{1.5, source{referrer: "https://blog.example.net/", utm: UTM{Source: "tea-blog", Medium: "affiliate", Campaign: "review"}}},
}
