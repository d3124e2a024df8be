package referral

import "strings"

// Address has the parts of a page's URL that statistics need.
type Address struct {
	Host, Path, Query string
}

// Locate splits the URL of a page, with or without scheme and host, or of a referrer. It accepts
// any text; one that is not a URL gets an odd path.
func Locate(address string) (l Address) {
	rest, _, _ := strings.Cut(address, "#")
	rest, l.Query, _ = strings.Cut(rest, "?")
	if _, after, ok := strings.Cut(rest, "://"); ok {
		l.Host, l.Path = after, ""
		if slash := strings.IndexByte(after, '/'); slash >= 0 {
			l.Host, l.Path = after[:slash], after[slash:]
		}
		l.Host = HostName(l.Host)
		return l
	}
	l.Path = rest
	return l
}

// HostName returns a host in lower case, without user, port and www.
func HostName(authority string) string {
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:colon]
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.TrimPrefix(host, "www.")
}
