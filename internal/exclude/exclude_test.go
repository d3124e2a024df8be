package exclude

import (
	"errors"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	r := Rules{
		Addresses: []string{"192.0.2.7", "198.51.100.9/24", "2001:db8::/32", "::ffff:203.0.113.1"},
		Paths:     []string{"/admin/**", "/preview"},
		Hosts:     []string{"Staging.example.com", "*.preview.example.com"},
	}
	m, err := r.Compile()
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"192.0.2.7": true, "192.0.2.8": false, "198.51.100.200": true, "2001:db8:1::2": true, "2001:db9::": false,
		"::ffff:192.0.2.7": true, "203.0.113.1": true, "": false, "unix": false,
	} {
		if m.Address(address) != want {
			t.Errorf("address %q: %v", address, !want)
		}
	}
	for path, want := range map[string]bool{"/admin/a/b": true, "/admin": false, "/preview": true, "/preview/a": false} {
		if m.Path(path) != want {
			t.Errorf("path %q: %v", path, !want)
		}
	}
	for host, want := range map[string]bool{"staging.example.com": true, "a.preview.example.com": true, "example.com": false, "": false} {
		if m.Host(host) != want {
			t.Errorf("host %q: %v", host, !want)
		}
	}
}

func TestRulesThatCannotBeUsed(t *testing.T) {
	for _, r := range []Rules{
		{Addresses: []string{"192.0.2"}}, {Addresses: []string{"192.0.2.0/33"}}, {Addresses: []string{""}},
		{Paths: []string{"admin"}}, {Paths: []string{"/" + strings.Repeat("a", maxPattern)}},
		{Hosts: []string{"https://example.com"}}, {Hosts: []string{""}},
		{Paths: make([]string, maxRules+1)},
	} {
		if _, err := r.Compile(); !errors.Is(err, ErrRule) {
			t.Errorf("%+.100v: %v", r, err)
		}
	}
}
