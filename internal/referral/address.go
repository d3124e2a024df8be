package referral

import "strings"

// Address is a page's address taken apart as far as statistics need it.
type Address struct {
	Host, Path, Query string
}

// Locate takes an address apart: of a page, with or without scheme and host, or of a referrer. Nothing is refused; what
// is no address has an odd path.
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

// HostName is a host in lower case, without user, port and www.
func HostName(authority string) string {
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:colon]
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.TrimPrefix(host, "www.")
}
