package main

import (
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
}

// found is the result of looking something up in a list.
type found struct {
	Value string `json:"value"`
	Entry string `json:"entry,omitempty"` // of the list; "": not listed
}

// listReport is what is known of a list.
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
	list, err := readList(c.File, blocklist.ReadNetworks)
	if err != nil {
		return err
	}
	r := listReport{Entries: list.Len()}
	for _, text := range c.Addresses {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("bad_address: %q: use an IP address", text)
		}
		f := found{Value: text}
		if network, ok := list.Find(address); ok {
			f.Entry = network.String()
		}
		r.Found = append(r.Found, f)
	}
	return r.print(std, g, "network")
}

type listsDomains struct {
	File      string   `arg:"" type:"path" help:"File with one domain per line."`
	Referrers []string `arg:"" optional:"" name:"referrer" help:"URLs or hosts to look up."`
}

// Run reads the list and looks up the referrers.
func (c *listsDomains) Run(std streams, g *globals) error {
	list, err := readList(c.File, blocklist.ReadDomains)
	if err != nil {
		return err
	}
	r := listReport{Entries: list.Len()}
	for _, text := range c.Referrers {
		host := referral.Locate(text).Host
		if host == "" {
			host = text
		}
		entry, _ := list.Find(host)
		r.Found = append(r.Found, found{text, entry})
	}
	return r.print(std, g, "domain")
}

func readList[L any](name string, read func(io.Reader) (*L, error)) (*L, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("no_such_file: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	list, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("bad_list: %s: %w", name, err)
	}
	return list, nil
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
