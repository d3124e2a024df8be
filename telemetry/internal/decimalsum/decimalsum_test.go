package decimalsum

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/onefold/onefold/internal/varint"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "22.40": "22.4", "+3": "3", "-12.5e-3": "-0.0125", "1e3": "1000", "007": "7",
		"74.93588199999998": "74.93588199999998", "123456789012345678": "123456789012345678",
		"1234567890123456789012345678901234": "1234567890123456789012345678901234", ".5": "0.5", "5.": "5", "0.10": "0.1",
		"9999999999999999999": "9999999999999999999", "1e-40": "0.0000000000000000000000000000000000000001",
		"999999999999999999.9": "999999999999999999.9",
	} {
		d, err := Parse(in)
		if err != nil || d.String() != want {
			t.Errorf("Parse(%q) = %s, %v; want %s", in, d, err, want)
		}
	}
	for _, in := range []string{"", "-", ".", "+", "NaN", "Inf", "-Infinity", "1e41", "1e-41", "1e999999999999", "0x10", "1_000", " 1", "1 ", "1,5",
		"12345678901234567890123456789012345", "--1", "1.2.3", "1e", "ß"} {
		if d, err := Parse(in); err == nil {
			t.Errorf("Parse(%q) = %s", in, d)
		}
	}
}

// The results match those of rational numbers, and encoded numbers are read back unchanged.
func TestArithmetic(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	number := func() string {
		s := strconv.FormatInt(r.Int64N(1<<uint(1+r.IntN(62)))-r.Int64N(1<<40), 10)
		return s + "e" + strconv.Itoa(r.IntN(40)-20)
	}
	rational := func(d Decimal) *big.Rat {
		x, ok := new(big.Rat).SetString(d.String())
		if !ok {
			t.Fatalf("%s is no number", d)
		}
		return x
	}
	for range 2000 {
		a, err := Parse(number())
		b, err2 := Parse(number())
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		x, y := rational(a), rational(b)
		for _, c := range []struct {
			got  Decimal
			want *big.Rat
		}{{a.Plus(b), new(big.Rat).Add(x, y)}, {a.Minus(b), new(big.Rat).Sub(x, y)}, {a.Times(b), new(big.Rat).Mul(x, y)}} {
			if rational(c.got).Cmp(c.want) != 0 {
				t.Fatalf("%s and %s make %s", a, b, c.got)
			}
			in := varint.NewReader(c.got.Append(nil))
			if back := Read(&in); in.Failed() || in.More() || back.Cmp(&c.got) != 0 {
				t.Fatalf("%s is read back as %s", c.got, back)
			}
		}
		if a.Cmp(&b) != x.Cmp(y) {
			t.Fatalf("%s and %s compare as %d", a, b, a.Cmp(&b))
		}
	}
}

func TestMeanAndDeviation(t *testing.T) {
	var sum, squares Decimal
	for _, s := range []string{"2", "4", "4", "4", "5", "5", "7", "9"} {
		v, err := Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		sum, squares = sum.Plus(v), squares.Plus(v.Times(v))
	}
	if m, d := Mean(sum, 8), Deviation(sum, squares, 8); m.String() != "5" || d.String() != "2" {
		t.Errorf("mean %s, deviation %s", m, d)
	}
	if m := Mean(Of(1), 3); m.String() != "0.33333333333333333333" {
		t.Errorf("mean %s", m)
	}
	if d := Deviation(Of(3), Of(1), 2); !d.IsZero() { // no two values have these sums
		t.Errorf("deviation of a damaged aggregate: %s", d)
	}
	if d := Deviation(Decimal{}, Decimal{}, 0); !d.IsZero() {
		t.Errorf("deviation of nothing %s", d)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := varint.NewReader(b)
		d := Read(&in)
		_ = d.Plus(d).Times(d).String()
	})
}
