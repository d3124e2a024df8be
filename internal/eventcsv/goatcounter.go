package eventcsv

import (
	"net/url"
	"strings"
	"time"
)

// goatCounter parses a row of GoatCounter's export, after https://www.goatcounter.com/help/export.
// Version 1 has the user agent in the column that has the browser in version 2.
func (r row) goatCounter() (Event, error) {
	at, err := timeOf(r.get("date"), time.RFC3339)
	if err != nil {
		return Event{}, err
	}
	e := Event{Kind: PageView, At: at, Visitor: r.get("session"), Bot: r.get("bot") != "0" && r.get("bot") != ""}
	if e.Visitor == "" {
		return Event{}, malformed("it has no session")
	}
	switch r.get("event") {
	case "true", "1":
		e.Kind, e.Name = Custom, r.get("path")
		if e.Name == "" {
			return Event{}, malformed("it is an event without a name")
		}
	case "false", "0":
		e.Path, e.Query, _ = strings.Cut(r.get("path"), "?")
		if !strings.HasPrefix(e.Path, "/") {
			e.Path = "/" + e.Path
		}
	default:
		return Event{}, malformed("whether it is an event is neither true nor false: %.40q", r.get("event"))
	}
	e.goatReferrer(r.get("referrer"), r.get("referrerscheme"))
	if _, ok := r.p.column["system"]; ok {
		e.Browser, e.OS = withoutVersion(r.get("browser")), withoutVersion(r.get("system"))
		if e.OS == "iPhone OS" || e.OS == "iPadOS" {
			e.OS = "iOS"
		}
	} else {
		e.UserAgent = r.get("browser")
	}
	if width, rest, ok := strings.Cut(r.get("screensize"), ","); ok {
		height, _, _ := strings.Cut(rest, ",")
		if width != "0" {
			e.Screen = width + "x" + height
		}
	}
	e.Country, e.Region, _ = strings.Cut(r.get("location"), "-")
	if e.Region != "" {
		e.Region = r.get("location")
	}
	return e, nil
}

// generated are referrers that GoatCounter replaces by a name, because their links come from many
// URLs.
var generated = map[string]string{
	"Google": "https://www.google.com/", "Hacker News": "https://news.ycombinator.com/", "Reddit": "https://www.reddit.com/",
	"Twitter": "https://twitter.com/", "Facebook": "https://www.facebook.com/", "LinkedIn": "https://www.linkedin.com/",
	"Pinterest": "https://www.pinterest.com/", "YouTube": "https://www.youtube.com/", "Instagram": "https://www.instagram.com/",
}

// goatReferrer sets the referrer. A referrer that is not a URL is a campaign's source.
func (e *Event) goatReferrer(referrer, scheme string) {
	switch {
	case referrer == "":
	case scheme == "h" || scheme == "" && strings.Contains(referrer, "."):
		e.Referrer = withScheme("https", referrer)
	case scheme == "o":
		e.Referrer = withScheme("android-app", referrer)
	case scheme == "g" && generated[referrer] != "":
		e.Referrer = generated[referrer]
	default:
		source := "utm_source=" + url.QueryEscape(referrer)
		if e.Query != "" {
			source += "&" + e.Query
		}
		e.Query = source
	}
}

func withScheme(scheme, address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	return scheme + "://" + strings.TrimPrefix(address, "//")
}

// withoutVersion removes the version from the end of a name: "Firefox 138.0" becomes Firefox.
func withoutVersion(name string) string {
	name = strings.TrimSpace(name)
	if i := strings.LastIndexByte(name, ' '); i > 0 && i+1 < len(name) && '0' <= name[i+1] && name[i+1] <= '9' {
		return name[:i]
	}
	return name
}
