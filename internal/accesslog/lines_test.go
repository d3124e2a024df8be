package accesslog

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// readLines formats what Lines yields: the text of each line, or its error.
func readLines(r io.Reader) (lines []string, errs []error) {
	number := int64(0)
	for line, err := range Lines(r) {
		if number++; line.Number != number {
			errs = append(errs, fmt.Errorf("line %d is called %d", number, line.Number))
		}
		if err != nil {
			errs = append(errs, err)
			lines = append(lines, "!")
			continue
		}
		lines = append(lines, string(line.Text))
	}
	return lines, errs
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"\n", []string{""}},
		{"a", []string{"a"}},
		{"a\n", []string{"a"}},
		{"a\r\nb\rc\r\n\r\n", []string{"a", "b\rc", ""}},
		{"a\n\nb", []string{"a", "", "b"}},
		{"\x00a\x00\nb", []string{"\x00a\x00", "b"}},
		{"a\r", []string{"a"}},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
			got, errs := readLines(r)
			if len(errs) != 0 || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("%q: got %q, %v; want %q", c.text, got, errs, c.want)
			}
		}
	}
}

func TestLongLines(t *testing.T) {
	fits, over := strings.Repeat("x", MaxLine), strings.Repeat("y", MaxLine+1)
	for _, ending := range []string{"\n", "\r\n"} {
		text := "a" + ending + fits + ending + over + ending + strings.Repeat(over, 3) + ending + "b" + ending + over
		got, errs := readLines(strings.NewReader(text))
		want := []string{"a", fits, "!", "!", "b", "!"}
		if strings.Join(got, "|") != strings.Join(want, "|") || len(errs) != 3 {
			t.Errorf("ending %q: got %d lines and errors %v", ending, len(got), errs)
		}
		for _, err := range errs {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("got %v, want ErrMalformed", err)
			}
		}
	}
}

func TestLinesReportTheReadersError(t *testing.T) {
	broken := errors.New("broken")
	got, errs := readLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if fmt.Sprint(got) != "[a !]" || len(errs) != 1 || !errors.Is(errs[0], broken) {
		t.Errorf("got %q, %v; want the first line, then the error", got, errs)
	}
}

// TestLinesAgree compares Lines with strings.Split on random texts, mostly with lines about as long
// as the buffer.
func TestLinesAgree(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		var b strings.Builder
		for range r.IntN(8) {
			b.WriteString(strings.Repeat("z", max(0, r.IntN(3)*(64<<10)+r.IntN(5)-2)))
			b.WriteString([]string{"\n", "\r\n", "\r"}[r.IntN(3)])
		}
		want := strings.Split(b.String(), "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		for i := range want {
			want[i] = strings.TrimSuffix(want[i], "\r")
		}
		got, errs := readLines(iotest.HalfReader(strings.NewReader(b.String())))
		if len(errs) != 0 || strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Fatalf("seed %d: got %d lines, %v; want %d", seed, len(got), errs, len(want))
		}
	}
}
