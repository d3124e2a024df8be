package blocklist

import (
	"errors"
	"io"
	"strings"

	"golang.org/x/net/idna"
)

const maxDomain = 253 // bytes, RFC 1035

// Domains is a list of domains. It is safe for concurrent use.
type Domains struct {
	names map[string]struct{}
}

// ReadDomains reads a list of domains, such as spam.example. A domain includes its subdomains.
// Errors: ErrList, and those of r.
func ReadDomains(r io.Reader) (*Domains, error) {
	d := &Domains{map[string]struct{}{}}
	err := entries(r, func(entry string) error {
		name := hostName(entry)
		if !isDomain(name) {
			return errors.New("use a domain such as spam.example, without scheme and path")
		}
		d.names[name] = struct{}{}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// isDomain reports whether a result of hostName is a domain of two or more labels. Lists in other
// formats, such as ||spam.example^, are refused, because their entries would match no host.
func isDomain(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_."
	return len(name) <= maxDomain && strings.Trim(name, allowed) == "" && strings.Contains(name, ".") && name[0] != '.' && !strings.Contains(name, "..")
}

// hostName returns a host in the form in which lists and referrers are compared: ASCII, lower case,
// without www and a final dot.
func hostName(host string) string {
	host = strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(host), "."), "www.")
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// Len returns the number of different domains.
func (d *Domains) Len() int { return len(d.names) }

// Find returns the listed domain that a host is or belongs to.
func (d *Domains) Find(host string) (domain string, found bool) {
	if len(host) > maxDomain {
		return "", false
	}
	for name := hostName(host); name != ""; _, name, _ = strings.Cut(name, ".") {
		if _, found := d.names[name]; found {
			return name, true
		}
	}
	return "", false
}
