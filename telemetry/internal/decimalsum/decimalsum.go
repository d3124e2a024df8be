// Package decimalsum is decimal arithmetic for measurements. Decimals are added, squared and compared
// without rounding, so that the order in which readings arrive never changes a digit.
package decimalsum

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/onefold/onefold/internal/varint"
)

// Decimal is a decimal number. The zero value is 0. Copies may share memory, so methods never
// modify their operands.
type Decimal struct{ d apd.Decimal }

// Limits of a measurement: significant digits, and the powers of ten of the first and last digit.
// They bound the size of a sum of squares.
const (
	maxDigits   = 34
	maxExponent = 40
)

var (
	unrounded = apd.BaseContext
	// printed has enough digits for means and deviations: more than any sensor.
	printed = apd.BaseContext.WithPrecision(20)
)

// ErrNumber is returned by Parse for text that is not a finite decimal within the limits.
var ErrNumber = errors.New("not a decimal number of at most 34 digits between 1e-40 and 1e40")

// Parse parses digits with an optional sign, point and exponent. Errors: ErrNumber.
func Parse(s string) (Decimal, error) {
	if d, ok := parseShort(s); ok {
		return d, nil
	}
	var d Decimal
	if s == "" || len(s) > 128 || strings.Trim(s, "0123456789+-.eE") != "" {
		return d, fmt.Errorf("%w: %q", ErrNumber, shorten(s))
	}
	if _, _, err := d.d.SetString(s); err != nil || d.d.Form != apd.Finite {
		return Decimal{}, fmt.Errorf("%w: %q", ErrNumber, shorten(s))
	}
	if d.d.IsZero() {
		return Decimal{}, nil
	}
	d.d.Reduce(&d.d)
	digits := d.d.NumDigits()
	if digits > maxDigits || int64(d.d.Exponent) < -maxExponent || int64(d.d.Exponent)+digits > maxExponent {
		return Decimal{}, fmt.Errorf("%w: %q", ErrNumber, shorten(s))
	}
	return d, nil
}

func shorten(s string) string { return s[:min(len(s), 40)] }

// parseShort parses a plain number of at most 18 digits, which covers nearly all measurements.
func parseShort(s string) (d Decimal, ok bool) {
	digits, negative := s, false
	if s != "" && s[0] == '-' {
		digits, negative = s[1:], true
	}
	if len(digits) == 0 || len(digits) > 19 {
		return d, false
	}
	var n int64
	point := -1
	for i := range len(digits) {
		c := digits[i]
		switch {
		case c == '.' && point < 0 && i > 0 && i < len(digits)-1:
			point = i
		case c < '0' || c > '9' || i == 18 && point < 0:
			return d, false
		default:
			n = n*10 + int64(c-'0')
		}
	}
	exponent := 0
	if point >= 0 {
		exponent = point + 1 - len(digits)
	}
	if n == 0 {
		return d, true
	}
	for ; n%10 == 0; n /= 10 {
		exponent++
	}
	d.d.SetFinite(n, int32(exponent))
	d.d.Negative = negative
	return d, true
}

// Of returns an integer.
func Of(n int64) Decimal {
	var d Decimal
	d.d.SetInt64(n)
	return d
}

// String formats the number without exponent and without redundant zeros.
func (a Decimal) String() string {
	var d apd.Decimal
	d.Reduce(&a.d)
	if d.IsZero() {
		return "0"
	}
	return d.Text('f')
}

// Float returns the nearest float64.
func (a Decimal) Float() float64 {
	f, err := a.d.Float64()
	if err != nil {
		return 0 // impossible for numbers within the limits of Parse, and for their sums
	}
	return f
}

// IsZero reports whether the number is 0.
func (a Decimal) IsZero() bool { return a.d.IsZero() }

// Cmp returns -1, 0 or +1 if a is less than, equal to, or greater than b.
func (a *Decimal) Cmp(b *Decimal) int { return a.d.Cmp(&b.d) }

// Plus returns a + b.
func (a Decimal) Plus(b Decimal) (sum Decimal) {
	exactly(unrounded.Add(&sum.d, &a.d, &b.d))
	return sum
}

// Minus returns a - b.
func (a Decimal) Minus(b Decimal) (difference Decimal) {
	exactly(unrounded.Sub(&difference.d, &a.d, &b.d))
	return difference
}

// Times returns a · b.
func (a Decimal) Times(b Decimal) (product Decimal) {
	exactly(unrounded.Mul(&product.d, &a.d, &b.d))
	return product
}

// exactly panics if unrounded arithmetic fails. That needs exponents a hundred thousand apart,
// which numbers from Parse do not have.
func exactly(_ apd.Condition, err error) {
	if err != nil {
		panic(fmt.Sprintf("exact: %v", err))
	}
}

// Mean returns sum / n with 20 digits, or 0 if n is 0.
func Mean(sum Decimal, n int64) (mean Decimal) {
	if n > 0 {
		exactly(printed.Quo(&mean.d, &sum.d, apd.New(n, 0)))
	}
	return mean
}

// Deviation returns the population standard deviation of n values, from their sum and the sum of
// their squares, with 20 digits. It returns 0 for impossible sums, of a damaged aggregate.
func Deviation(sum, squares Decimal, n int64) (deviation Decimal) {
	if n == 0 {
		return deviation
	}
	variance := Of(n).Times(squares).Minus(sum.Times(sum)) // n² times the variance, exactly: never negative for real values
	if variance.d.Negative {
		return deviation
	}
	exactly(printed.Sqrt(&deviation.d, &variance.d))
	exactly(printed.Quo(&deviation.d, &deviation.d, apd.New(n, 0)))
	return deviation
}

// Append appends the encoding of the number: the exponent, the length and sign of the coefficient,
// and the coefficient, big-endian.
func (a Decimal) Append(b []byte) []byte {
	var d apd.Decimal
	d.Reduce(&a.d)
	if d.IsZero() {
		return append(b, 0, 0)
	}
	b = binary.AppendVarint(b, int64(d.Exponent))
	coefficient := d.Coeff.Bytes()
	head := uint64(len(coefficient)) << 1
	if d.Negative {
		head |= 1
	}
	return append(binary.AppendUvarint(b, head), coefficient...)
}

// Read decodes a number.
func Read(r *varint.Reader) (a Decimal) {
	exponent, head := r.Int(), r.Uint()
	if exponent < -4*maxExponent || exponent > 4*maxExponent || head>>1 > 256 {
		r.Fail()
		return a
	}
	coefficient := r.Bytes(head >> 1)
	if len(coefficient) == 0 {
		return a
	}
	if len(coefficient) < 8 {
		n := int64(0)
		for _, c := range coefficient {
			n = n<<8 | int64(c)
		}
		a.d.SetFinite(n, int32(exponent))
	} else {
		a.d.Coeff.SetMathBigInt(new(big.Int).SetBytes(coefficient))
		a.d.Exponent = int32(exponent)
	}
	a.d.Negative = head&1 == 1
	return a
}

// Skip passes over a number.
func Skip(r *varint.Reader) {
	r.Skip(1)
	r.Bytes(r.Uint() >> 1)
}

// ParseFloat returns the shortest decimal that reads back as f. Errors: ErrNumber.
func ParseFloat(f float64) (Decimal, error) { return Parse(strconv.FormatFloat(f, 'g', -1, 64)) }

// IsNoNumber reports whether a text is a program's notation for a non-finite number, in any case.
func IsNoNumber(text string) bool {
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}
