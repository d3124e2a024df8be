package item

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"
)

func TestParseNumberSpelling(t *testing.T) {
	nines := strings.Repeat("9", 38)
	tests := []struct{ in, want string }{
		{"0", "0"}, {"-0", "0"}, {"+0", "0"}, {"0.000", "0"}, {"0e999999999", "0"}, {"-0e-999999999999999999999", "0"},
		{"007", "7"}, {".5", "0.5"}, {"5.", "5"}, {"+5", "5"}, {"-7", "-7"}, {"+.5", "0.5"}, {"1.0", "1"}, {"3.1400", "3.14"},
		{"1.5E2", "150"}, {"1.5E+3", "1500"}, {"1e+2", "100"}, {"00042", "42"}, {"1E-3", "0.001"}, {"-12.50e-1", "-1.25"},
		{"9223372036854775807", "9223372036854775807"}, {"-9223372036854775808", "-9223372036854775808"},
		{"9223372036854775808", "9223372036854775808"}, {"18446744073709551616", "18446744073709551616"},
		{nines, nines}, {"0." + nines, "0." + nines}, {"-" + nines + "e87", "-" + nines + strings.Repeat("0", 87)},
		{"1E125", "1" + strings.Repeat("0", 125)}, {"1E-130", "0." + strings.Repeat("0", 129) + "1"},
		{"9." + nines[1:] + "E+125", nines + strings.Repeat("0", 88)},
		{nines + strings.Repeat("0", 50), nines + strings.Repeat("0", 50)},
		{strings.Repeat("0", 1000) + "1" + strings.Repeat("0", 30) + "." + strings.Repeat("0", 1000), "1" + strings.Repeat("0", 30)},
	}
	for _, tt := range tests {
		n, err := ParseNumber(tt.in)
		if err != nil {
			t.Errorf("ParseNumber(%q): %v", tt.in, err)
			continue
		}
		if got := n.String(); got != tt.want {
			t.Errorf("ParseNumber(%q) = %s, want %s", tt.in, got, tt.want)
		}
		if again, err := ParseNumber(n.String()); err != nil || again != n {
			t.Errorf("%q: spelled %q, read back as %v, %v", tt.in, n, again, err)
		}
	}
}

func TestParseNumberErrors(t *testing.T) {
	long := strings.Repeat("1", 39)
	tests := []struct {
		in   string
		want error
		text string
	}{
		{"", ErrNotNumeric, "The parameter cannot be converted to a numeric value"},
		{"abc", ErrNotNumeric, "The parameter cannot be converted to a numeric value: abc"},
		{" 5", ErrNotNumeric, ""}, {"5 ", ErrNotNumeric, ""}, {"1_000", ErrNotNumeric, ""}, {"1+2", ErrNotNumeric, ""},
		{"1.2.3", ErrNotNumeric, ""}, {"++5", ErrNotNumeric, ""}, {"1e", ErrNotNumeric, ""}, {"1e+", ErrNotNumeric, ""},
		{".", ErrNotNumeric, ""}, {"-", ErrNotNumeric, ""}, {"e5", ErrNotNumeric, ""}, {"NaN", ErrNotNumeric, ""},
		{"Infinity", ErrNotNumeric, ""}, {"0x10", ErrNotNumeric, ""}, {"١", ErrNotNumeric, ""},
		{"1E126", ErrOverflow, ""}, {"-1E+126", ErrOverflow, ""}, {"1e100000000000000000000", ErrOverflow, ""},
		{"10E125", ErrOverflow, ""}, {"1E-131", ErrUnderflow, ""}, {"0.1E-130", ErrUnderflow, ""},
		{"-1e-99999999999999999999", ErrUnderflow, ""}, {long, ErrPrecision, ""}, {"0." + long, ErrPrecision, ""},
		{"1" + strings.Repeat("0", 38) + "1", ErrPrecision, ""}, {"1." + strings.Repeat("0", 37) + "1", ErrPrecision, ""},
		{long + "e100", ErrOverflow, ""}, {long + "e-200", ErrUnderflow, ""},
	}
	for _, tt := range tests {
		_, err := ParseNumber(tt.in)
		if !errors.Is(err, tt.want) {
			t.Errorf("ParseNumber(%q): %v, want %v", tt.in, err, tt.want)
		} else if tt.text != "" && err.Error() != tt.text {
			t.Errorf("ParseNumber(%q): %q, want %q", tt.in, err, tt.text)
		}
	}
}

func TestNumberInt64(t *testing.T) {
	for _, i := range []int64{0, 1, -1, 10, 100, 99, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 1e18, -1e18, 123456789000} {
		n := IntNumber(i)
		if got, ok := n.Int64(); !ok || got != i {
			t.Errorf("IntNumber(%d).Int64() = %d, %v", i, got, ok)
		}
		if want := strconv.FormatInt(i, 10); n.String() != want {
			t.Errorf("IntNumber(%d) = %s", i, n)
		}
		if p, err := ParseNumber(strconv.FormatInt(i, 10)); err != nil || p != n {
			t.Errorf("ParseNumber(%d) = %#v, want %#v (%v)", i, p, n, err)
		}
	}
	for _, s := range []string{"9223372036854775808", "-9223372036854775809", "0.5", "1e19", "99999999999999999999999999999999999999"} {
		n, _ := ParseNumber(s)
		if i, ok := n.Int64(); ok {
			t.Errorf("%s is not an int64, got %d", s, i)
		}
	}
}

func TestNumberSize(t *testing.T) {
	tests := []struct {
		in   string
		want int
	}{
		{"0", 1}, {"1", 2}, {"42", 2}, {"-42", 3}, {"123", 3}, {"100", 2}, {"0.5", 2}, {"0.05", 2}, {"1.5", 3}, {"12.34", 3},
		{"123.456", 5}, {"1E125", 2}, {"1E-130", 2}, {"12345678901234567890123456789012345678", 20}, {"-0.001", 3},
	}
	for _, tt := range tests {
		n, err := ParseNumber(tt.in)
		if err != nil || n.Size() != tt.want {
			t.Errorf("size of %s is %d, want %d (%v)", tt.in, n.Size(), tt.want, err)
		}
	}
}

// genNumber draws spellings of numbers, mostly near the limits.
func genNumber() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		digits := rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits")
		if rapid.Bool().Draw(t, "plain") {
			return rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + digits
		}
		if rapid.Bool().Draw(t, "point") {
			at := rapid.IntRange(0, len(digits)).Draw(t, "at")
			digits = digits[:at] + "." + digits[at:]
		}
		exp := rapid.OneOf(rapid.IntRange(-3, 3), rapid.IntRange(-170, 130)).Draw(t, "exp")
		return rapid.SampledFrom([]string{"", "-", "+"}).Draw(t, "sign") + digits + "e" + strconv.Itoa(exp)
	})
}

// reference computes with apd, a general decimal library, what Number computes with 128 bits.
func reference(t *rapid.T, s string) *apd.Decimal {
	d, _, err := apd.NewFromString(s)
	if err != nil {
		t.Fatalf("apd refuses %q: %v", s, err)
	}
	d.Reduce(d)
	return d
}

func checkedReference(d *apd.Decimal) error {
	d.Reduce(d)
	if d.IsZero() {
		return nil
	}
	m := int64(d.Exponent) + d.NumDigits() - 1
	switch {
	case m > maxMagnitude:
		return ErrOverflow
	case m < minMagnitude:
		return ErrUnderflow
	case d.NumDigits() > maxDigits:
		return ErrPrecision
	}
	return nil
}

func TestNumberAgainstDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		as, bs := genNumber().Draw(t, "a"), genNumber().Draw(t, "b")
		da, db := reference(t, as), reference(t, bs)
		a, errA := ParseNumber(as)
		b, errB := ParseNumber(bs)
		if errA != checkedReference(da) || errB != checkedReference(db) {
			t.Fatalf("%s: %v, want %v; %s: %v, want %v", as, errA, checkedReference(da), bs, errB, checkedReference(db))
		}
		if errA != nil || errB != nil {
			return
		}
		if a.String() != plain(da) {
			t.Fatalf("%s is spelled %s, want %s", as, a, plain(da))
		}
		if CompareNumbers(a.String(), b.String()) != da.Cmp(db) || numberSize(a.String()) != a.Size() {
			t.Fatalf("%s and %s by text: compare %d, size %d", a, b, CompareNumbers(a.String(), b.String()), numberSize(a.String()))
		}
		if a.Cmp(b) != da.Cmp(db) || (a == b) != (da.Cmp(db) == 0) {
			t.Fatalf("Cmp(%s, %s) = %d", as, bs, a.Cmp(b))
		}
		checkSum(t, a.Add, b, da, db, apd.BaseContext.Add)
		checkSum(t, func(n Number) (Number, error) { return a.Add(n.Neg()) }, b, da, db, apd.BaseContext.Sub)
	})
}

func plain(d *apd.Decimal) string {
	if d.IsZero() {
		return "0"
	}
	return d.Text('f')
}

func checkSum(t *rapid.T, op func(Number) (Number, error), b Number, da, db *apd.Decimal,
	ref func(d, x, y *apd.Decimal) (apd.Condition, error)) {
	got, err := op(b)
	var want apd.Decimal
	if _, e := ref(&want, da, db); e != nil {
		t.Fatal(e)
	}
	wantErr := checkedReference(&want)
	// A sum that is too precise may also be out of range. It does not matter which of the two
	// errors is reported.
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s with %s: %v, want %v (%s)", da, db, err, wantErr, want.Text('f'))
	}
	if err == nil && got.String() != plain(&want) {
		t.Fatalf("%s with %s = %s, want %s", da, db, got, plain(&want))
	}
}

func TestAddBounded(t *testing.T) {
	tests := []struct {
		a, b, want string
		err        error
	}{
		{"1", "1e125", "", ErrPrecision},
		{"1e38", "-1", strings.Repeat("9", 38), nil},
		{"1e39", "-1", "", ErrPrecision},
		{"3e38", "1", "", ErrPrecision},
		{strings.Repeat("9", 38), "1", "1" + strings.Repeat("0", 38), nil},
		{strings.Repeat("9", 38), strings.Repeat("9", 38), "", ErrPrecision},
		{"9e125", "1e125", "", ErrOverflow},
		{"1.1e-130", "-1e-130", "", ErrUnderflow},
		{"0.1", "0.2", "0.3", nil},
		{"-5", "5", "0", nil},
	}
	for _, tt := range tests {
		a, _ := ParseNumber(tt.a)
		b, _ := ParseNumber(tt.b)
		got, err := a.Add(b)
		if !errors.Is(err, tt.err) || (err == nil && got.String() != tt.want) {
			t.Errorf("%s + %s = %s, %v; want %s, %v", tt.a, tt.b, got, err, tt.want, tt.err)
		}
	}
}
