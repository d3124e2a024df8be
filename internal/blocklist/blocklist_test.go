package blocklist

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/onefold/onefold/internal/seeds"
)

func TestNetworks(t *testing.T) {
	n, err := ReadNetworks(strings.NewReader("\ufeff# data centers\r\n\r\n192.0.2.77/24 # with host bits\n192.0.2.128/25\n198.51.100.7\n2001:db8::/32\n\t::ffff:203.0.113.9\n"))
	if err != nil || n.Len() != 5 {
		t.Fatal(n, err)
	}
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.0/24", "192.0.2.200": "192.0.2.128/25", "::ffff:192.0.2.1": "192.0.2.0/24", "192.0.3.1": "", "198.51.100.7": "198.51.100.7/32",
		"198.51.100.8": "", "2001:db8::1%eth0": "2001:db8::/32", "2001:db9::1": "", "203.0.113.9": "203.0.113.9/32",
	} {
		a := netip.MustParseAddr(address)
		network, found := n.Find(a)
		if found != (want != "") || found && network.String() != want || n.Contains(a) != found {
			t.Errorf("%s: %s, %v", address, network, found)
		}
	}
	if _, found := n.Find(netip.Addr{}); found || n.Contains(netip.Addr{}) {
		t.Error("no address is listed")
	}
}

func TestDomains(t *testing.T) {
	d, err := ReadDomains(strings.NewReader("Spam.example\nwww.free-traffic.example.\nbücher.example\nfree_hits.example\n"))
	if err != nil || d.Len() != 4 {
		t.Fatal(d, err)
	}
	for host, want := range map[string]string{
		"spam.example": "spam.example", "WWW.a.Spam.example": "spam.example", "notspam.example": "", "example": "", "": "", "free_hits.example": "free_hits.example", "free-traffic.example": "free-traffic.example",
		"xn--bcher-kva.example": "xn--bcher-kva.example", "shop.bücher.example": "xn--bcher-kva.example", strings.Repeat("a.", 500) + "spam.example": "",
	} {
		if got, found := d.Find(host); got != want || found != (want != "") {
			t.Errorf("%s: %q", host, got)
		}
	}
}

func TestInvalidLists(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "192.0.2.0/33", "0.0.0.0/0", "::/0", "10.0.0.0/7", "2000::/8", "192.0.2", "fe80::1%eth0", "::ffff:10.0.0.0/104", "a\x00b", strings.Repeat("1", maxLine+1)} {
		if _, err := ReadNetworks(strings.NewReader("192.0.2.0/24\n"[:min(13, 13*len(text))] + text)); text != "" && text != "# nothing\n" && !errors.Is(err, ErrList) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	for _, text := range []string{"", "com", "https://spam.example/", "*.spam.example", "a b.example", strings.Repeat("a.", 200), ".spam.example", "spam..example", "..", "||spam.example^", "spam.example,", `"spam.example"`, "spam.example;2024"} {
		if _, err := ReadDomains(strings.NewReader(text)); !errors.Is(err, ErrList) || len(err.Error()) > 200 {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if _, err := ReadNetworks(strings.NewReader("192.0.2.0/24 " + strings.Repeat("#", maxLine-13) + "\n")); err != nil {
		t.Errorf("a line of %d bytes: %v", maxLine, err)
	}
	if _, err := ReadNetworks(strings.NewReader("192.0.2.0/24\n\nhere")); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("without line: %v", err)
	}
}

// Random lists contain the same addresses as a naive search says.
func TestNetworksAgainstASearch(t *testing.T) {
	seeds.Run(t, 10, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		address := func() netip.Addr {
			return netip.AddrFrom4([4]byte{10, byte(r.IntN(2)), byte(r.IntN(256)), byte(r.IntN(256))})
		}
		var all []netip.Prefix
		var text strings.Builder
		for range 1 + r.IntN(50) {
			p := netip.PrefixFrom(address(), 14+r.IntN(19))
			all = append(all, p.Masked())
			fmt.Fprintln(&text, p)
		}
		n, err := ReadNetworks(strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		for range 500 {
			a, want := address(), netip.Prefix{}
			for _, p := range all {
				if p.Contains(a) && (!want.IsValid() || p.Bits() > want.Bits()) {
					want = p
				}
			}
			if got, found := n.Find(a); got != want || found != want.IsValid() || n.Contains(a) != found {
				t.Fatalf("%s in %s: %s, want %s", a, all, got, want)
			}
		}
	})
}

func TestLongLists(t *testing.T) {
	endless := io.LimitReader(repeat("spam.example\n"), (maxEntries+1)*13)
	if _, err := ReadDomains(endless); !errors.Is(err, ErrList) {
		t.Error(err)
	}
}

// repeat is a reader of endless copies.
type repeat string

func (r repeat) Read(p []byte) (int, error) {
	n := 0
	for len(p)-n >= len(r) {
		n += copy(p[n:], r)
	}
	return n, nil
}

func BenchmarkNetworks(b *testing.B) {
	var text strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		fmt.Fprintf(&text, "%d.%d.%d.0/%d\n", 1+r.IntN(223), r.IntN(256), r.IntN(256), 12+r.IntN(13))
	}
	n, err := ReadNetworks(strings.NewReader(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("contains", func(b *testing.B) {
		a := netip.MustParseAddr("203.0.113.9")
		for b.Loop() {
			n.Contains(a)
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := ReadNetworks(strings.NewReader(text.String())); err != nil {
				b.Fatal(err)
			}
		}
	})
}
