package webhook

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// ErrPrivate is returned for a URL with a private or loopback address.
var ErrPrivate = errors.New("the URL has a private address, which is not called")

// shared lists networks that are not public, besides those that netip knows.
var shared = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"), // Teredo and 6to4 contain IPv4 addresses
}

// IsPrivate reports whether a URL has a private or loopback address. Names other than localhost are
// not resolved; their addresses are checked at each call.
func IsPrivate(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && CheckPublic(netip.AddrPortFrom(ip, 443).String()) != nil
}

// CheckPublic checks an IP address with a port. Errors: ErrPrivate.
func CheckPublic(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return ErrPrivate
	}
	ip := at.Addr().Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return ErrPrivate
	}
	for _, p := range shared {
		if p.Contains(ip) {
			return ErrPrivate
		}
	}
	return nil
}
