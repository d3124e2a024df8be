package exchange

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/onefold/onefold/internal/seeds"
)

// file has the form of the European Central Bank's: the latest day first, a comma at the end of each line.
const file = "\ufeffDate,USD,JPY,CHF,\r\n2026-11-25,1.0500,160.00,0.9300,\r\n2026-11-24,1.0400,N/A,0.9250,\r\n2026-11-20,1.0300,158.00,0.9200,\r\n"

func read(t *testing.T, text string) *Rates {
	t.Helper()
	x, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestConvert(t *testing.T) {
	x := read(t, file)
	if first, last := x.Days(); first != "2026-11-20" || last != "2026-11-25" {
		t.Error(first, last)
	}
	for _, tc := range []struct {
		amount, from, to, day string
		want                  string // "": no rate
	}{
		{"10.50", "USD", "EUR", "2026-11-25", "10.00"},
		{"10", "EUR", "USD", "2026-11-25", "10.50"},
		{"10", "EUR", "USD", "2026-11-26", "10.50"},                           // of the day before
		{"10", "EUR", "USD", "2026-11-23", "10.30"},                           // of the Friday before
		{"10", "EUR", "USD", "2026-12-02", "10.50"},                           // a week old
		{"10", "EUR", "USD", "2026-12-03", ""},                                // older
		{"10", "EUR", "USD", "2026-11-19", ""},                                // before the first
		{"10", "EUR", "JPY", "2026-11-24", "1580"},                            // of the last day with a rate, without decimals
		{"1", "USD", "CHF", "2026-11-24", "0.89"},                             // 0.925 / 1.04 = 0.8894
		{"-3.99", "USD", "EUR", "2026-11-20", "-3.87"},                        // a refund
		{"0.001", "USD", "EUR", "2026-11-20", "0.00"},                         // less than a cent
		{"999999999999999", "USD", "JPY", "2026-11-20", "153398058252427031"}, // 16 digits and more
		{"1", "GBP", "EUR", "2026-11-20", ""},
		{"1", "EUR", "GBP", "2026-11-20", ""},
		{"0.125", "EUR", "EUR", "2026-11-20", "0.12"}, // half to even
		{"0.135", "EUR", "EUR", "2026-11-20", "0.14"},
		{"lots", "EUR", "USD", "2026-11-20", ""},
	} {
		at, err := time.Parse(time.DateOnly, tc.day)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := x.Convert(tc.amount, tc.from, tc.to, at.Add(23*time.Hour)); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s %s in %s on %s: %q, %v, want %q", tc.amount, tc.from, tc.to, tc.day, got, ok, tc.want)
		}
	}
	if _, ok := (*Rates)(nil).Convert("1", "EUR", "USD", time.Now()); ok {
		t.Error("no rates convert")
	}
}

// Converted amounts are those of exact fractions, rounded half to even.
func TestConvertIsExact(t *testing.T) {
	seeds.Run(t, 200, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		a, b := fmt.Sprintf("%d.%04d", random.IntN(300), 1+random.IntN(9999)), fmt.Sprintf("%d.%06d", random.IntN(3), 1+random.IntN(999999))
		x := read(t, "Date,USD,CHF\n2026-11-25,"+a+","+b+"\n")
		amount := fmt.Sprintf("%d.%06d", random.IntN(1e9), random.IntN(1e6))
		got, ok := x.Convert(amount, "USD", "CHF", time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC))
		exact := func(s string) *big.Rat { r, _ := new(big.Rat).SetString(s); return r }
		cents := new(big.Rat).Mul(exact(amount), new(big.Rat).Quo(exact(b), exact(a)))
		cents.Mul(cents, big.NewRat(100, 1))
		floor := new(big.Int).Div(cents.Num(), cents.Denom())
		rest := new(big.Rat).Sub(cents, new(big.Rat).SetInt(floor))
		if c := rest.Cmp(big.NewRat(1, 2)); c > 0 || c == 0 && floor.Bit(0) == 1 {
			floor.Add(floor, big.NewInt(1))
		}
		want := new(big.Rat).SetFrac(floor, big.NewInt(100)).FloatString(2)
		if !ok || got != want {
			t.Errorf("%s at %s / %s: %s, want %s", amount, b, a, got, want)
		}
	})
}

func TestInvalidRates(t *testing.T) {
	for _, text := range []string{
		"", "Day,USD\n2026-11-25,1\n", "Date\n2026-11-25\n", "Date,EUR\n2026-11-25,1\n", "Date,USD,USD\n2026-11-25,1,1\n", "Date,QQQ\n2026-11-25,1\n", "Date,USD\n",
		"Date,USD\n2026-13-25,1\n", "Date,USD\n2026-11-25,0\n", "Date,USD\n2026-11-25,-1\n", "Date,USD\n2026-11-25,1e3\n", "Date,USD\n2026-11-25,Infinity\n", "Date,USD\n2026-11-25,.\n",
		"Date,USD\n2026-11-25,1\n2026-11-25,1\n", "Date,USD\n2026-11-25\n", "Date,USD\n\"2026-11-25,1\n", "Date,USD\n2026-11-25," + strings.Repeat("1", maxRate+1) + "\n",
		"Date" + strings.Repeat(",", maxCurrencies+1) + "\n", "<html>\n",
	} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ErrRates) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
	broken := errors.New("broken")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) || errors.Is(err, ErrRates) {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	for code, want := range map[string]string{"usd": "USD", "EUR": "EUR", "Jpy": "JPY", "": "", "Euro": "", "QQQ": "", "€": "", "US": ""} {
		if got, err := Parse(code); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", code, got, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file)
	f.Fuzz(func(_ *testing.T, text string) {
		if x, err := Read(strings.NewReader(text)); err == nil {
			x.Convert("12.5", "USD", "EUR", time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC))
		}
	})
}
