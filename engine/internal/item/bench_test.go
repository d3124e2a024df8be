package item

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// pageView is an item as web analytics stores it.
func pageView() Item {
	s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	n := func(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }
	return Item{
		"pk": s("SITE#my-site#SHARD#3"), "sk": s("EVENT#01HXQ2M8Z6T3V9K4N7P5R1S0WB"), "at": n("1715520000123"),
		"path": s("/blog/2026/05/a-page-with-a-title"), "visitor": s("b7e2c9d4f1a60835"), "ttl": n("1718112000"),
		"referrer": s("https://example.org/search?q=onefold"), "browser": s("Firefox"), "os": s("Linux"), "country": s("CH"),
		"screen": n("1440"), "props": &types.AttributeValueMemberM{Value: Item{"plan": s("pro"), "value": n("12.5")}},
	}
}

func BenchmarkNormalize(b *testing.B) {
	it := pageView()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Normalize(it); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSize(b *testing.B) {
	it := pageView()
	for b.Loop() {
		Size(it)
	}
}

func BenchmarkAppend(b *testing.B) {
	it := pageView()
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = Append(buf[:0], it)
	}
	b.ReportMetric(float64(len(buf)), "bytes/item")
}

func BenchmarkDecode(b *testing.B) {
	enc := Append(nil, pageView())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(enc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	enc := Append(nil, pageView())
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := Lookup(enc, "ttl"); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseNumber(b *testing.B) {
	for _, s := range []string{"7", "1715520000123", "12.5", "12345678901234567890123456789012345678"} {
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				if _, err := ParseNumber(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAddNumber(b *testing.B) {
	x, y := IntNumber(41), IntNumber(1)
	for b.Loop() {
		if _, err := x.Add(y); err != nil {
			b.Fatal(err)
		}
	}
}
