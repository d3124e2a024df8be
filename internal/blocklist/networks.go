package blocklist

import (
	"errors"
	"io"
	"net/netip"
	"strings"

	"github.com/gaissmai/bart"
)

// Widest networks that a list may have. One typing error must not filter out everybody.
const (
	minBits4 = 8
	minBits6 = 16
)

// Networks is a list of IP networks. It is safe for concurrent use.
type Networks struct {
	table bart.Lite
}

// ReadNetworks reads a list of networks, such as 192.0.2.0/24 and 2001:db8::/32, and addresses.
// Errors: ErrList, and those of r.
func ReadNetworks(r io.Reader) (*Networks, error) {
	n := new(Networks)
	err := entries(r, func(entry string) error {
		network, err := parseNetwork(entry)
		if err == nil {
			n.table.Insert(network)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return netip.Prefix{}, errors.New("use a network such as 192.0.2.0/24 or an IP address")
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil || network.Addr().Is4In6() {
		return netip.Prefix{}, errors.New("use a network such as 192.0.2.0/24 or an IP address")
	}
	if network.Addr().Is4() && network.Bits() < minBits4 || network.Addr().Is6() && network.Bits() < minBits6 {
		return netip.Prefix{}, errors.New("the network is too large; use at least /8 for IPv4 and /16 for IPv6")
	}
	return network.Masked(), nil
}

// Len returns the number of different networks.
func (n *Networks) Len() int { return n.table.Size() }

// Contains reports whether an address is in a network of the list.
func (n *Networks) Contains(address netip.Addr) bool {
	return n.table.Contains(address.Unmap().WithZone(""))
}

// Find returns the narrowest network of the list that contains an address.
func (n *Networks) Find(address netip.Addr) (network netip.Prefix, found bool) {
	address = address.Unmap().WithZone("")
	if !address.IsValid() {
		return network, false
	}
	return n.table.LookupPrefixLPM(netip.PrefixFrom(address, address.BitLen()))
}
