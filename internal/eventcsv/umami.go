package eventcsv

import (
	"cmp"
	"strings"
	"time"
)

// umamiLayouts are the time layouts of ClickHouse, PostgreSQL and Umami's own API.
var umamiLayouts = []string{time.DateTime, "2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z07:00", time.RFC3339Nano}

// umami parses a row of website_event, after
// https://github.com/umami-software/umami/blob/master/db/clickhouse/schema.sql. The website_event
// of PostgreSQL and MySQL has no browser, location and screen, which are in another table there.
func (r row) umami() (Event, error) {
	at, err := timeOf(r.get("created_at"), umamiLayouts...)
	if err != nil {
		return Event{}, err
	}
	e := Event{
		At: at, ID: r.get("event_id"), Visitor: r.get("session_id"), Visit: r.get("visit_id"), UserID: r.get("distinct_id"),
		Host: r.get("hostname"), Path: r.get("url_path"), Query: strings.TrimPrefix(r.get("url_query"), "?"),
		Device: r.get("device"), Screen: r.get("screen"), Language: r.get("language"),
		Country: r.get("country"), City: r.get("city"),
	}
	if e.Visitor == "" {
		return Event{}, malformed("it has no session_id")
	}
	switch r.get("event_type") {
	case "1":
		e.Kind = PageView
	case "2":
		if e.Kind, e.Name = Custom, r.get("event_name"); e.Name == "" {
			return Event{}, malformed("it is an event without an event_name")
		}
	case "":
		return Event{}, malformed("it has no event_type")
	default: // links, pixels, measurements
		return Event{}, nil
	}
	if !strings.HasPrefix(e.Path, "/") {
		e.Path = "/" + e.Path
	}
	if domain := r.get("referrer_domain"); domain != "" {
		e.Referrer = "https://" + domain + r.get("referrer_path")
		if query := strings.TrimPrefix(r.get("referrer_query"), "?"); query != "" {
			e.Referrer += "?" + query
		}
	}
	e.Browser, e.OS = umamiBrowser(r.get("browser")), umamiSystem(r.get("os"))
	if e.Device == "laptop" {
		e.Device = "desktop"
	}
	e.Region = umamiRegion(e.Country, cmp.Or(r.get("region"), r.get("subdivision1")))
	return e, nil
}

func umamiRegion(country, region string) string {
	if region == "" || country == "" || strings.Contains(region, "-") {
		return region
	}
	return country + "-" + region
}

// umamiBrowsers maps the names of the package "detect-browser", which Umami uses.
var umamiBrowsers = map[string]string{
	"android": "Android Browser", "android-webview": "Chrome", "aol": "AOL", "bb10": "BlackBerry Browser", "brave": "Brave", "chrome": "Chrome",
	"chromium-webview": "Chrome", "crios": "Chrome", "duckduckgo": "DuckDuckGo", "edge": "Edge", "edge-chromium": "Edge", "edge-ios": "Edge",
	"facebook": "Facebook", "firefox": "Firefox", "fxios": "Firefox", "ie": "Internet Explorer", "instagram": "Instagram", "ios": "Safari",
	"ios-webview": "Safari", "kakaotalk": "Kakao", "miui": "Miui Browser", "opera": "Opera", "opera-mini": "Opera Mini", "safari": "Safari",
	"samsung": "Samsung Internet", "silk": "Silk", "vivaldi": "Vivaldi", "yandexbrowser": "Yandex Browser",
}

func umamiBrowser(name string) string {
	if common, ok := umamiBrowsers[strings.ToLower(name)]; ok {
		return common
	}
	return name
}

func umamiSystem(name string) string {
	switch {
	case name == "Mac OS":
		return "macOS"
	case name == "Android OS":
		return "Android"
	case name == "Amazon OS":
		return "Fire OS"
	case name == "Windows Mobile":
		return "Windows Phone"
	case strings.HasPrefix(name, "Windows "):
		return "Windows"
	}
	return name
}
