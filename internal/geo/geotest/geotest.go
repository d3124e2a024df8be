// Package geotest creates location databases for tests, in MaxMind's format:
// https://maxmind.github.io/MaxMind-DB/
package geotest

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/onefold/onefold/internal/geo"
)

// Write creates a database of IPv4 networks that do not overlap, and returns the path of its file.
func Write(t testing.TB, places map[string]geo.Place) string {
	t.Helper()
	var tree tree
	var data []byte
	for _, network := range slices.Sorted(maps.Keys(places)) {
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			t.Fatal(err)
		}
		tree.put(prefix, len(data))
		data = append(data, place(places[network])...)
	}
	file := filepath.Join(t.TempDir(), "places.mmdb")
	if err := os.WriteFile(file, slices.Concat(tree.bytes(), make([]byte, 16), data, metadata(len(tree.nodes))), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// tree is a binary trie. A record of 0 means no data, n > 0 means node n, and n < 0 means the data
// at -n-1.
type tree struct{ nodes [][2]int }

func (t *tree) put(prefix netip.Prefix, data int) {
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, [2]int{})
	}
	address, at := prefix.Addr().As4(), 0
	for depth := range prefix.Bits() {
		bit := int(address[depth/8] >> (7 - depth%8) & 1)
		if depth == prefix.Bits()-1 {
			t.nodes[at][bit] = -data - 1
			return
		}
		if t.nodes[at][bit] == 0 {
			t.nodes = append(t.nodes, [2]int{})
			t.nodes[at][bit] = len(t.nodes) - 1
		}
		at = t.nodes[at][bit]
	}
}

func (t *tree) bytes() (b []byte) {
	for _, node := range t.nodes {
		for _, record := range node {
			switch {
			case record == 0:
				record = len(t.nodes)
			case record < 0:
				record = len(t.nodes) + 16 - record - 1
			}
			b = append(b, byte(record>>16), byte(record>>8), byte(record))
		}
	}
	return b
}

func place(p geo.Place) []byte {
	named := func(name string) []byte { return dict("names", dict("en", text(name))) }
	return dict("country", dict("iso_code", text(p.Country)), "subdivisions", list(named(p.Region)), "city", named(p.City))
}

func metadata(nodes int) []byte {
	return append([]byte("\xab\xcd\xefMaxMind.com"), dict(
		"binary_format_major_version", number(5, 2), "binary_format_minor_version", number(5, 0),
		"build_epoch", []byte{1, 2, 1}, "database_type", text("Test-City"), "description", dict("en", text("for tests")),
		"ip_version", number(5, 4), "languages", list(text("en")), "node_count", number(6, nodes), "record_size", number(5, 24),
	)...)
}

// header returns the header of a field with one of the first seven types.
func header(kind, size int) []byte {
	if size < 29 {
		return []byte{byte(kind<<5 | size)}
	}
	return []byte{byte(kind<<5 | 29), byte(size - 29)}
}

func text(s string) []byte { return append(header(2, len(s)), s...) }

func number(kind, n int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(n))
	if kind == 5 {
		b = b[2:]
	}
	return append(header(kind, len(b)), b...)
}

func list(items ...[]byte) []byte {
	return slices.Concat([]byte{byte(len(items)), 4}, slices.Concat(items...))
}

// dict encodes a map from alternating names and encoded values.
func dict(pairs ...any) []byte {
	b := header(7, len(pairs)/2)
	for _, part := range pairs {
		switch part := part.(type) {
		case string:
			b = append(b, text(part)...)
		case []byte:
			b = append(b, part...)
		}
	}
	return b
}
