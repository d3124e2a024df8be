package traffic

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
)

// person is a visitor, who may return.
type person struct {
	number   int64
	ip       string
	agent    agent
	screen   string
	country  string
	language string
}

// locale is a country and language.
type locale struct{ country, language string }

var locales = []weighted[locale]{
	{30, locale{"US", "en-US"}}, {9, locale{"GB", "en-GB"}}, {10, locale{"DE", "de-DE"}}, {7, locale{"FR", "fr-FR"}},
	{6, locale{"IN", "en-IN"}}, {4, locale{"CA", "en-CA"}}, {1, locale{"CA", "fr-CA"}}, {4, locale{"NL", "nl-NL"}},
	{4, locale{"ES", "es-ES"}}, {4, locale{"IT", "it-IT"}}, {4, locale{"BR", "pt-BR"}}, {3, locale{"PL", "pl-PL"}},
	{3, locale{"JP", "ja-JP"}}, {3, locale{"AU", "en-AU"}}, {2, locale{"SE", "sv-SE"}}, {2, locale{"CH", "de-CH"}},
	{2, locale{"AT", "de-AT"}}, {1, locale{"KR", "ko-KR"}}, {1, locale{"MX", "es-MX"}}, {1, locale{"ZA", "en-ZA"}},
}

// person returns the person with a number: always the same one, and no two with the same address.
func (g *Generator) person(number int64) person {
	r := g.random(streamPeople, number)
	where := g.locales.draw(r)
	a := g.agents.draw(r)
	return person{
		number:   number,
		ip:       address(number, r.IntN(4) == 0),
		agent:    a,
		screen:   a.screens[r.IntN(len(a.screens))],
		country:  where.country,
		language: where.language,
	}
}

// address maps numbers to addresses that belong to nobody: 100.64.0.0/10 (carrier-grade NAT, RFC
// 6598), which has four million, and 2001:db8::/32 (documentation, RFC 3849). Odd multipliers
// permute, so no address repeats before all were used.
func address(number int64, six bool) string {
	if six {
		b := [16]byte{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8}
		binary.BigEndian.PutUint64(b[8:], uint64(number)*0x9e3779b97f4a7c15)
		return netip.AddrFrom16(b).String()
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 100<<24|64<<16|uint32(number)*2654435761&(1<<22-1))
	return netip.AddrFrom4(b).String()
}

// random returns the random numbers for one thing in one stream. They depend only on the seed, so
// that a visit does not depend on concurrent visits.
func (g *Generator) random(stream, number int64) *rand.Rand {
	return rand.New(rand.NewPCG(g.o.Seed^uint64(stream)*0x9e3779b97f4a7c15, uint64(number)*0xbf58476d1ce4e5b9+1))
}

const (
	streamHours int64 = iota + 1
	streamVisits
	streamPeople
)
