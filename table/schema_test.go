package table

import (
	"strings"
	"testing"
	"time"
)

type siteKey struct {
	SiteID string `dynamodbav:"siteId"`
}

type siteItem struct {
	siteKey
	Owner string    `dynamodbav:"ownerId,omitempty"`
	At    time.Time `dynamodbav:"at"`
	N     int       `dynamodbav:"n"`
}

type pairKey struct {
	A string `dynamodbav:"a"`
	B string `dynamodbav:"b"`
}

type pairItem struct{ pairKey }

type seqKey struct {
	ID  string    `dynamodbav:"id"`
	Seq uint64    `dynamodbav:"seq"`
	At  time.Time `dynamodbav:"at"`
}

type seqItem struct{ seqKey }

func site(d Def[siteItem]) *Entity[siteItem, siteKey] { return Define[siteItem, siteKey]("site", d) }

func pair(name, pk, sk string) *Entity[pairItem, pairKey] {
	return Define[pairItem, pairKey](name, Def[pairItem]{PK: pk, SK: sk})
}

func seq(name, pk, sk string) *Entity[seqItem, seqKey] {
	return Define[seqItem, seqKey](name, Def[seqItem]{PK: pk, SK: sk})
}

var goodSites = site(Def[siteItem]{PK: "SITE#{siteId}", SK: "METADATA",
	Indexes: []Index[siteItem]{{Name: "gsi1", PK: "OWNER#{ownerId}", SK: "SITE#{siteId}"}}})

var goodPairs = pair("pair", "A#{a}", "B#{b}")

func goodSeqs() *Entity[seqItem, seqKey] { return seq("seq", "ID#{id}", "AT#{at:ms}#{seq:012}") }

type aIn struct {
	A string `dynamodbav:"a"`
}

type abIn struct {
	A string `dynamodbav:"a"`
	B string `dynamodbav:"b"`
}

type timesIn struct {
	ID       string    `dynamodbav:"id"`
	From, To time.Time `dynamodbav:"-"`
	Since    time.Time `dynamodbav:"since"`
	N        int       `dynamodbav:"n"`
}

// TestSchemaFindings covers every finding of the schema check, each with a definition that has the
// fault.
func TestSchemaFindings(t *testing.T) {
	pairQuery := func(d QueryDef[abIn]) Part { d.ID = "Q"; return NewQuery(goodPairs, d) }
	seqQuery := func(d QueryDef[timesIn]) Part {
		d.ID, d.Filter = "Q", func(timesIn) Cond { return Cond{} }
		return NewQuery(goodSeqs(), d)
	}
	tests := []struct {
		fault string
		parts []Part
		want  string // empty means no finding
	}{
		{"none", []Part{goodSites, goodPairs, goodSeqs()}, ""},
		{"given twice", []Part{goodSites, goodSites}, ""},
		{"unknown field", []Part{site(Def[siteItem]{PK: "SITE#{site}", SK: "METADATA"})},
			`unknown field {site}; known: siteId`},
		{"key of a field that is not the key's", []Part{site(Def[siteItem]{PK: "SITE#{siteId}", SK: "OWNER#{ownerId}"})},
			`unknown field {ownerId}`},
		{"unknown field on an index", []Part{site(Def[siteItem]{PK: "SITE#{siteId}", SK: "M",
			Indexes: []Index[siteItem]{{Name: "gsi1", PK: "O#{owner}", SK: "S"}}})}, `index gsi1 PK: template "O#{owner}": unknown field {owner}`},
		{"lost key field", []Part{pair("p", "A#{a}", "B")}, `key field "b" is in neither PK "A#{a}" nor SK "B"`},
		{"unpadded integer", []Part{seq("s", "ID#{id}", "AT#{at:ms}#{seq}")}, `integer {seq} is not padded`},
		{"unpadded integer on an index", []Part{site(Def[siteItem]{PK: "SITE#{siteId}", SK: "M",
			Indexes: []Index[siteItem]{{Name: "gsi1", PK: "O#{ownerId}", SK: "N#{n}"}}})}, `integer {n} is not padded`},
		{"integer in a partition key", []Part{site(Def[siteItem]{PK: "SITE#{siteId}", SK: "M",
			Indexes: []Index[siteItem]{{Name: "gsi1", PK: "N#{n}", SK: "S"}}})}, ``},
		{"format of an integer", []Part{seq("s", "ID#{id}", "AT#{at:ms}#{seq:12}")}, `the format of an integer is 0 and a width`},
		{"unformatted time", []Part{seq("s", "ID#{id}", "AT#{at}#{seq:012}")}, `time {at} needs a fixed-width format`},
		{"time format that has no fixed width", []Part{seq("s", "ID#{id}", "AT#{at:nano}#{seq:012}")}, `time {at} needs a fixed-width format`},
		{"format of a string", []Part{pair("p", "A#{a:ms}", "B#{b}")}, `a string has no format`},
		{"touching variables", []Part{pair("p", "A#{a}{b}", "B")}, `variables {a} and {b} touch`},
		{"separator that values may contain", []Part{pair("p", "A#{a}-{b}", "B")}, `parted by "-", which a value may contain`},
		{"empty template", []Part{pair("p", "A#{a}#{b}", "")}, `template is empty`},
		{"open variable", []Part{pair("p", "A#{a", "B#{b}")}, `'{' is not closed`},
		{"bracket in the middle", []Part{pair("p", "A#[#{a}]#B", "B#{b}")}, `a bracketed part must be the last`},
		{"reserved attribute", []Part{Define[struct {
			siteKey
			TTL int `dynamodbav:"ttl"`
		}, siteKey]("site", Def[struct {
			siteKey
			TTL int `dynamodbav:"ttl"`
		}]{PK: "SITE#{siteId}", SK: "M"})}, `field "ttl": the name is reserved`},
		{"key not embedded", []Part{Define[siteItem, pairKey]("site", Def[siteItem]{PK: "A#{a}", SK: "B#{b}"})}, `does not embed its key struct`},
		{"unknown tag option", []Part{Define[struct {
			siteKey
			X int `dynamodbav:"x,omitzero"`
		}, siteKey]("site", Def[struct {
			siteKey
			X int `dynamodbav:"x,omitzero"`
		}]{PK: "SITE#{siteId}", SK: "M"})}, `unknown tag option "omitzero"`},
		{"too large", []Part{site(Def[siteItem]{PK: "SITE#{siteId}", SK: "M", MaxBytes: 1 << 20})}, `MaxBytes 1048576 is not between`},
		{"expiry reads nothing", []Part{site(Def[siteItem]{PK: "SITE#{siteId}", SK: "M", ExpiresReads: []string{"at"}})}, `without Expires`},
		{"name taken", []Part{pair("p", "A#{a}", "B#{b}"), pair("p", "C#{a}", "B#{b}")}, `two entities have the name "p"`},

		{"same keys", []Part{pair("p", "A#{a}", "B#{b}"), pair("q", "A#{a}", "B#{b}")}, `entities p and q collide on the table`},
		{"prefix of a sort key", []Part{pair("p", "A#{a}", "B#{b}"), pair("q", "A#{a}", "B#C#{b}")}, `entities p and q collide`},
		{"whole key as a prefix", []Part{site(Def[siteItem]{PK: "A#{siteId}", SK: "B"}), pair("q", "A#{a}", "B#{b}")}, `entities site and q collide`},
		{"no literal in a sort key", []Part{pair("p", "A#{a}", "{b}"), pair("q", "A#{a}", "B#{b}")}, `entities p and q collide`},
		{"variable that may be the other's literal", []Part{pair("p", "{a}#X", "B#{b}"), pair("q", "A#{a}", "B#{b}")}, `collide`},
		{"bracketed tail left out", []Part{pair("p", "A[#{a}]", "B#{b}"), site(Def[siteItem]{PK: "A", SK: "B#{siteId}"})}, `collide`},
		{"longer partition key", []Part{pair("p", "A#{a}", "B#{b}"), seq("q", "A#{id}#SHARD#{seq}", "B#{at:ms}")}, ``},
		{"longer word", []Part{site(Def[siteItem]{PK: "A#{siteId}", SK: "STATS"}), pair("q", "A#{a}", "STATSX#{b}")}, ``},
		{"same prefix on an index", []Part{goodSites, Define[struct {
			pairKey
			Owner string `dynamodbav:"ownerId"`
		}, pairKey]("other", Def[struct {
			pairKey
			Owner string `dynamodbav:"ownerId"`
		}]{PK: "OTHER#{a}", SK: "B#{b}", Indexes: []Index[struct {
			pairKey
			Owner string `dynamodbav:"ownerId"`
		}]{{Name: "gsi1", PK: "OWNER#{ownerId}", SK: "SITE#{b}"}}})}, `entities site and other collide on index gsi1`},

		{"pattern", []Part{pairQuery(QueryDef[abIn]{Prefix: "B#{b}"})}, ``},
		{"pattern without ID", []Part{NewQuery(goodPairs, QueryDef[aIn]{})}, `the ID is missing`},
		{"pattern that ignores an input", []Part{pairQuery(QueryDef[abIn]{})}, `input field "b" of table.abIn is in none of its key templates`},
		{"pattern without a needed input", []Part{NewQuery(goodPairs, QueryDef[siteKey]{ID: "Q"})}, `unknown field {a}; known: siteId`},
		{"pattern on no index", []Part{pairQuery(QueryDef[abIn]{Index: "gsi9"})}, `the entity is not on index "gsi9"`},
		{"pattern of another partition", []Part{pairQuery(QueryDef[abIn]{PK: "X#{a}", Prefix: "B#{b}"})}, `not of the form of the entity's "A#{a}"`},
		{"pattern of another prefix", []Part{pairQuery(QueryDef[abIn]{Prefix: "C#{b}"})}, `not of the form of the entity's "B#{b}"`},
		{"prefix and range", []Part{pairQuery(QueryDef[abIn]{Prefix: "B#{b}", From: "B#{b}"})}, `set Prefix, or From and To, not both`},
		{"fan-out without numbers", []Part{pairQuery(QueryDef[abIn]{FanOut: "a"})}, `set FanOut and Over together`},
		{"fan-out over text", []Part{pairQuery(QueryDef[abIn]{FanOut: "a", Over: func(abIn) []int { return nil }})}, `have different kinds`},
		{"range over text of a time", []Part{seqQuery(QueryDef[timesIn]{From: "AT#{since}"})}, `time {since} needs a fixed-width format`},
		{"range over a coarser time", []Part{seqQuery(QueryDef[timesIn]{From: "AT#{since:day}"})}, ``},
		{"range over another time", []Part{seqQuery(QueryDef[timesIn]{From: "AT#{since:s}"})}, `times with different formats`},
		{"range over another width", []Part{seqQuery(QueryDef[timesIn]{From: "AT#{since:ms}#{n:06}"})}, `padded differently`},
		{"ambiguous prefix", []Part{NewQuery(pair("p", "A#x", "B#{a}#{b}"), QueryDef[aIn]{ID: "Q", Prefix: "B#{a}"})},
			`end it with '#'`},

		{"tiers", []Part{ExpiryOrder("o", tiers(30, 90, 730))}, ``},
		{"raw gone before the day is rolled up", []Part{ExpiryOrder("o", tiers(0.5, 90, 730))}, `tier raw is kept for 12h0m0s, but tier hour`},
		{"hours gone before the month", []Part{ExpiryOrder("o", Tiers{Tiers: []Tier{
			{"hour", time.Hour, 10 * day}, {"month", 31 * day, 0}}})}, `tier hour is kept for 240h0m0s, but tier month`},
		{"coarser tier gone first", []Part{ExpiryOrder("o", tiers(90, 30, 730))}, `tier hour is kept for 720h0m0s, less than the finer tier raw`},
	}
	for _, test := range tests {
		_, err := NewSchema("s", test.parts...)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.fault, err)
		case test.want != "" && err == nil:
			t.Errorf("%s: no finding", test.fault)
		case test.want != "" && !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: finding\n  %v\ndoes not say\n  %s", test.fault, err, test.want)
		}
	}
}

const day = 24 * time.Hour

func tiers(raw, hour, days float64) Tiers {
	keep := func(n float64) time.Duration { return time.Duration(n * float64(day)) }
	return Tiers{Tiers: []Tier{{"raw", 0, keep(raw)}, {"hour", time.Hour, keep(hour)}, {"day", day, keep(days)}, {"month", 31 * day, 0}}}
}

func TestSchemaJoinsFindings(t *testing.T) {
	_, err := NewSchema("s", pair("p", "A#{x}", "B"), seq("q", "ID#{id}", "AT#{at}#{seq}"))
	for _, want := range []string{"{x}", `"a"`, `"b"`, "{at}", "{seq}"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %v does not name %s", err, want)
		}
	}
}
