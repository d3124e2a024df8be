package payload

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// same checks that both ways of reading a text give the same result.
func same(t *testing.T, text []byte) (quick bool) {
	t.Helper()
	text = bytes.TrimSpace(text)
	got, ok := parseQuickly(text, "me")
	if !ok {
		return false
	}
	want, err := parseCarefully(text, "me")
	if len(want) == 0 && len(got) == 0 {
		got = want
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%.300s\nis quickly   %+v\nand carefully %+v %v", text, got, want, err)
	}
	return true
}

func TestFastPathMatchesParser(t *testing.T) {
	for text, quick := range map[string]bool{
		`[]`: true, `[ ]`: true, `[{"values":{"t":21.50}}]`: true, ` [{"values":{}} , {}] `: true,
		`[{"device":"d","at":"2026-05-12T14:00:00.250+02:00","seq":7,"nth":3,"session":"s","values":{"t":1e2,"s":"on","b":true},"units":{"t":"C"},"tags":{"a":"b"}}]`: true,
		`[{"at":1778594400250,"values":{"t":-0.10,"n":0.1234567890123456789,"big":123456789012345678901234567890}}]`:                                                  true,
		`[{"values":{"t":1e400}}]`: true, `[{"values":{"t":[1],"u":{"a":[{}]}}}]`: true, `[{"values":{"":"","t":"\u00e9\ud83d\ude00"}}]`: true, `[{"at":"0001-01-01T00:00:00Z"}]`: true,

		`{"values":{"t":1}}`: false, `[{"values":{"t":null}}]`: false, `[{"Values":{"t":1}}]`: false, `[{"values":{"t":1},"values":{"u":1}}]`: false, `[{"values":{"t":1,"t":2}}]`: false,
		`[{"vals":{"t":1}}]`: false, "[{\"values\":{\"t\":\"\xff\"}}]": false, `[{"values":{"t":"\ud800"}}]`: false, `[{"nth":-1}]`: false, `[{"at":"yesterday"}]`: false, `[{"seq":1.5}]`: false,
		`[{}] x`: false, `[{}]]`: false, `[{},]`: false, `[{}`: false, `[1]`: false, `[{}{}]`: false, ``: false, `x`: false,
		"[" + strings.Repeat("{},", MaxReadings) + "{}]": false,
	} {
		if got := same(t, []byte(text)); got != quick {
			t.Errorf("%.300s: quick %v, want %v", text, got, quick)
		}
	}
}

func FuzzQuick(f *testing.F) {
	f.Add([]byte(`[{"device":"d","at":1778594400250,"seq":7,"session":"s","nth":2,"values":{"t":1e2,"s":"on","b":true,"x":[{}]},"units":{"t":"C"},"tags":{"a":"b"}},{}]`))
	f.Add([]byte(`[{"at":"2026-05-12T14:00:00.25+02:00","values":{"":"\u0000"}}]`))
	f.Fuzz(func(t *testing.T, text []byte) { same(t, text) })
}

func BenchmarkParse(b *testing.B) {
	var text bytes.Buffer
	for i := range 500 {
		fmt.Fprintf(&text, `,{"device":"d%d","at":%q,"seq":%d,"values":{"temperature":%d.25,"humidity":%d,"valve":"open"}}`, i%20, time.UnixMilli(1778594400250+int64(i)).UTC().Format(time.RFC3339Nano), i, i%40, i%100)
	}
	whole := append([]byte("["), append(text.Bytes()[1:], ']')...)
	for name, parse := range map[string]func() int{
		"quick":   func() int { r, _ := parseQuickly(whole, "me"); return len(r) },
		"careful": func() int { r, _ := parseCarefully(whole, "me"); return len(r) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if parse() != 500 {
					b.Fatal("not all were read")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/reading")
		})
	}
}
