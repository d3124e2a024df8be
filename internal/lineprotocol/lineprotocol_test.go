package lineprotocol

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// summary formats points as line:measurement tags fields time, or line! for an invalid line.
func summary(text string, unit time.Duration) string {
	var b strings.Builder
	for p, err := range Points([]byte(text), unit) {
		if err != nil {
			fmt.Fprintf(&b, "%d! ", p.Line)
			continue
		}
		fmt.Fprintf(&b, "%d:%s%v%v", p.Line, p.Measurement, p.Tags, p.Fields)
		if !p.At.IsZero() {
			fmt.Fprintf(&b, "@%d", p.At.UnixNano())
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

func TestPoints(t *testing.T) {
	for _, c := range []struct {
		text string
		unit time.Duration
		want string
	}{
		{"", 1, ""},
		{"cpu,host=a usage=1.50 17\n", 1, "1:cpu[{host a}][{usage 0 1.50}]@17"},
		{"cpu usage=1i,n=2u,on=T,off=false,s=\"a \\\"b\\\"\" 3", time.Second, `1:cpu[][{usage 0 1} {n 0 2} {on 1 true} {off 1 false} {s 2 a "b"}]@3000000000`},
		{"# a comment\n\n  \r\nm v=1\r\n", 1, "4:m[][{v 0 1}]"},
		{"m v=1\nbroken\nm v=2\nm v=\nm v=3 x\n,a=b v=1\nm v=4", 1, "1:m[][{v 0 1}] 2! 3:m[][{v 0 2}] 4! 5! 6! 7:m[][{v 0 4}]"},
		{"m s=\"two\nlines\" 5\nm v=1", 1, "1:m[][{s 2 two\nlines}]@5 3:m[][{v 0 1}]"},
		{"m s=\"open\nm v=1\nm v=2", 1, "1! 2:m[][{v 0 1}] 3:m[][{v 0 2}]"},
		{"m,t=a\\ b\\,c v=1", 1, "1:m[{t a b,c}][{v 0 1}]"},
		{"m v=1 9223372036854775807", time.Hour, "1!"},
		{"m v=1 9223372036854775808", 1, "1!"},
		{"m v=NaN", 1, "1!"},
		{"m", 1, "1!"},
		{"m,t v=1", 1, "1!"},
	} {
		if got := summary(c.text, c.unit); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestUnits(t *testing.T) {
	for name, want := range map[string]time.Duration{"": 1, "ns": 1, "us": 1000, "ms": 1e6, "s": 1e9, "m": time.Minute, "h": time.Hour} {
		if got, ok := Unit(name); !ok || got != want {
			t.Errorf("%q: %v, %v", name, got, ok)
		}
	}
	if _, ok := Unit("d"); ok {
		t.Error("there are days")
	}
}

// For any input, line numbers are correct, and an invalid line does not affect the others.
func FuzzPoints(f *testing.F) {
	for _, seed := range []string{"cpu,host=a usage=1.5,s=\"x\" 17", "m s=\"two\nlines\" 5", "# c\n", "m,a\\ =b v=1i", "\\", "m v=\"", "\r", "m v=1 \r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		last := 0
		for p, err := range Points(text, time.Second) {
			if p.Line <= last || p.Line > bytes.Count(text, []byte("\n"))+1 {
				t.Fatalf("line %d after %d", p.Line, last)
			}
			last = p.Line
			if err == nil && (p.Measurement == "" || len(p.Fields) == 0) {
				t.Fatalf("a point of nothing: %+v", p)
			}
		}
		if bytes.Contains(text, []byte(`"`)) || !bytes.HasSuffix(text, []byte("\n")) {
			return
		}
		both := summary(string(text)+"m v=1", time.Second)
		want := fmt.Sprintf("%d:m[][{v 0 1}]", bytes.Count(text, []byte("\n"))+1)
		if !strings.HasSuffix(both, want) {
			t.Fatalf("the line after is not read: %q", both)
		}
	})
}
