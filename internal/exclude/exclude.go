// Package exclude matches traffic that a site excludes from its statistics: from certain addresses,
// to certain pages, or on certain hosts.
package exclude

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/onefold/onefold/internal/glob"
)

// ErrRule is returned for an invalid rule. The message names the rule and says what to write.
var ErrRule = errors.New("exclude")

// Limits of rules.
const (
	maxRules   = 200 // of each kind
	maxPattern = 512 // bytes
)

// Rules are a site's exclusions, with the names under which they are stored. The zero value
// excludes nothing.
type Rules struct {
	Addresses []string `dynamodbav:"addresses,omitempty" json:"addresses,omitempty"` // IP addresses or networks: 192.0.2.7, 2001:db8::/32
	Paths     []string `dynamodbav:"paths,omitempty" json:"paths,omitempty"`         // wildcards: /admin/**
	Hosts     []string `dynamodbav:"hosts,omitempty" json:"hosts,omitempty"`         // wildcards: staging.example.com, *.preview.example.com
}

// Matcher matches compiled rules.
type Matcher struct {
	networks     []netip.Prefix
	paths, hosts []string
}

// Compile validates rules and compiles them. Errors: ErrRule.
func (r *Rules) Compile() (*Matcher, error) {
	if len(r.Addresses) > maxRules || len(r.Paths) > maxRules || len(r.Hosts) > maxRules {
		return nil, fmt.Errorf("%w: use at most %d rules of a kind", ErrRule, maxRules)
	}
	m := &Matcher{paths: r.Paths}
	for _, text := range r.Addresses {
		network, err := parseNetwork(text)
		if err != nil {
			return nil, fmt.Errorf("%w: address %q: use an IP address or a network like 192.0.2.0/24", ErrRule, text)
		}
		m.networks = append(m.networks, network)
	}
	for _, path := range r.Paths {
		if len(path) > maxPattern || !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "*") {
			return nil, fmt.Errorf("%w: path %q: use a path like /admin/** of at most %d bytes", ErrRule, path, maxPattern)
		}
	}
	for _, host := range r.Hosts {
		if host == "" || len(host) > maxPattern || strings.ContainsAny(host, "/ #?@") {
			return nil, fmt.Errorf("%w: host %q: use a host like staging.example.com or *.example.com", ErrRule, host)
		}
		m.hosts = append(m.hosts, strings.ToLower(host))
	}
	return m, nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	return network.Masked(), err
}

// Address reports whether an address is excluded. Anything that is not an IP address is not.
func (m *Matcher) Address(address string) bool {
	if len(m.networks) == 0 {
		return false
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	ip = ip.Unmap().WithZone("")
	for _, network := range m.networks {
		if network.Contains(ip) {
			return true
		}
	}
	return false
}

// Path reports whether a page's path is excluded.
func (m *Matcher) Path(path string) bool { return matchAny(m.paths, path) }

// Host reports whether a host, in lower case, is excluded.
func (m *Matcher) Host(host string) bool { return matchAny(m.hosts, host) }

func matchAny(patterns []string, text string) bool {
	for _, pattern := range patterns {
		if glob.Match(pattern, text) {
			return true
		}
	}
	return false
}
