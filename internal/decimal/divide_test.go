package decimal

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		amount  string
		weights []int64
		want    string
	}{
		{"10", []int64{1, 1, 1}, "3.33 3.33 3.34"},
		{"-10", []int64{1, 1, 1}, "-3.33 -3.33 -3.34"},
		{"20", []int64{1, 1, 1}, "6.66 6.67 6.67"},
		{"100", []int64{3, 1}, "75 25"},
		{"0.01", []int64{1, 1}, " 0.01"},
		{"0.001", []int64{1, 1}, " 0.001"},
		{"1.005", []int64{1, 1}, "0.502 0.503"},
		{"5", []int64{0, 0}, " 5"},
		{"5", []int64{0, 1}, " 5"},
		{"", []int64{1, 1}, " "},
		{"5", nil, ""},
		{"999999999999999.999999", []int64{1 << 40, 1 << 40}, "499999999999999.999999 500000000000000"},
	} {
		if got := strings.Join(Divide(c.amount, c.weights), " "); got != c.want {
			t.Errorf("%s by %v: %s, want %s", c.amount, c.weights, got, c.want)
		}
	}
}

// The parts of random amounts add up, have the sign of the amount, and differ from the exact
// proportion by less than a unit.
func TestDivideAddsUp(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		digits := random.IntN(7)
		amount, err := Parse(fmt.Sprintf("%d.%0*d", random.Int64N(2_000_000)-1_000_000, max(digits, 1), random.Int64N(10)))
		if err != nil {
			t.Fatal(err)
		}
		weights := make([]int64, 1+random.IntN(12))
		total := int64(0)
		for i := range weights {
			weights[i] = random.Int64N(1 << random.IntN(41))
			total += weights[i]
		}
		if total == 0 {
			continue
		}
		whole, _ := new(big.Rat).SetString("0" + strings.TrimPrefix(amount, "-"))
		unit := big.NewRat(1, 100)
		if _, fraction, _ := strings.Cut(amount, "."); len(fraction) > 2 {
			unit = new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil))
		}
		sum := ""
		for i, part := range Divide(amount, weights) {
			sum = Add(sum, part)
			if part != "" && strings.HasPrefix(part, "-") != strings.HasPrefix(amount, "-") {
				t.Fatalf("%s by %v: part %s", amount, weights, part)
			}
			is, _ := new(big.Rat).SetString("0" + strings.TrimPrefix(part, "-"))
			is.Sub(is, new(big.Rat).Mul(whole, big.NewRat(weights[i], total)))
			if is.Abs(is).Cmp(unit) >= 0 {
				t.Fatalf("%s by %v: part %d is %s, off by %s", amount, weights, i, part, is)
			}
		}
		if sum != amount {
			t.Fatalf("%s by %v adds up to %s", amount, weights, sum)
		}
	}
}
