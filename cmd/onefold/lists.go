package main

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"os"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/internal/blocklist"
	"github.com/onefold/onefold/internal/referral"
)

type listsCommands struct {
	Networks listsNetworks `cmd:"" help:"Check a file for --datacenter-ranges, and look up addresses in it."`
	Domains  listsDomains  `cmd:"" help:"Check a file for --referrer-spam, and look up referrers in it."`
	Rates    listsRates    `cmd:"" help:"Check a file for --exchange-rates, and convert an amount."`
}

// found is the result of looking something up in a list.
type found struct {
	Value string `json:"value"`
	Entry string `json:"entry,omitempty"` // of the list; "": not listed
}

// listReport describes a list and the values looked up in it.
type listReport struct {
	Entries int     `json:"entries"`
	Found   []found `json:"found,omitempty"`
}

type listsNetworks struct {
	File      string   `arg:"" type:"path" help:"File with one network per line."`
	Addresses []string `arg:"" optional:"" name:"address" help:"IP addresses to look up."`
}

// Run reads the list and looks up the addresses.
func (c *listsNetworks) Run(std streams, g *globals) error {
	r, err := lookUp(c.File, blocklist.ReadNetworks, c.Addresses, func(list *blocklist.Networks, text string) (string, error) {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return "", fmt.Errorf("bad_address: %q: use an IP address", text)
		}
		network, listed := list.Find(address)
		if !listed {
			return "", nil
		}
		return network.String(), nil
	})
	if err != nil {
		return err
	}
	return r.print(std, g, "network")
}

type listsDomains struct {
	File      string   `arg:"" type:"path" help:"File with one domain per line."`
	Referrers []string `arg:"" optional:"" name:"referrer" help:"URLs or hosts to look up."`
}

// Run reads the list and looks up the referrers.
func (c *listsDomains) Run(std streams, g *globals) error {
	r, err := lookUp(c.File, blocklist.ReadDomains, c.Referrers, func(list *blocklist.Domains, text string) (string, error) {
		entry, _ := list.Find(cmp.Or(referral.Locate(text).Host, text))
		return entry, nil
	})
	if err != nil {
		return err
	}
	return r.print(std, g, "domain")
}

// lookUp reads a list and looks up values in it. find returns the entry of a value, or "".
func lookUp[L interface{ Len() int }](file string, read func(io.Reader) (L, error), values []string, find func(list L, value string) (entry string, err error)) (r listReport, err error) {
	f, err := os.Open(file)
	if err != nil {
		return r, fmt.Errorf("no_such_file: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	list, err := read(f)
	if err != nil {
		return r, fmt.Errorf("bad_list: %s: %w", file, err)
	}
	r.Entries = list.Len()
	for _, value := range values {
		entry, err := find(list, value)
		if err != nil {
			return r, err
		}
		r.Found = append(r.Found, found{value, entry})
	}
	return r, nil
}

func (r *listReport) print(std streams, g *globals, noun string) error {
	if g.JSON {
		return printJSON(std.out, r)
	}
	p := &printer{out: std.out}
	p.line("%s.", terminal.Count(r.Entries, noun))
	for _, f := range r.Found {
		if f.Entry == "" {
			p.line("%s is not listed.", printable(f.Value))
			continue
		}
		p.line("%s is listed: %s.", printable(f.Value), f.Entry)
	}
	return p.err
}
