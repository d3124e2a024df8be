// Package decimalsum is the arithmetic of measurements: decimals that are added, squared and compared without rounding, so
// that the order in which readings arrive never changes a digit.
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

// Decimal is a decimal number. Its zero value is 0. Copies may share memory: what is changed is assigned to anew.
type Decimal struct{ d apd.Decimal }

// The bounds of a measurement: its significant digits, and the powers of ten of its first and its last. They bound what a
// sum of squares can take.
const (
	maxDigits   = 34
	maxExponent = 40
)

var (
	unrounded = apd.BaseContext
	// printed is enough for means and deviations: more digits than any sensor has.
	printed = apd.BaseContext.WithPrecision(20)
)

// ErrNumber is returned by Parse for what is no finite decimal, or one out of bounds.
var ErrNumber = errors.New("not a decimal number of at most 34 digits between 1e-40 and 1e40")

// Parse reads a number: digits with an optional sign, point and exponent. Errors: ErrNumber.
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

// parseShort reads a plain number of at most 18 digits, which nearly all measurements are.
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

// Of is a whole number.
func Of(n int64) Decimal {
	var d Decimal
	d.d.SetInt64(n)
	return d
}

// String writes the number plainly, without zeros that say nothing.
func (a Decimal) String() string {
	var d apd.Decimal
	d.Reduce(&a.d)
	if d.IsZero() {
		return "0"
	}
	return d.Text('f')
}

// Float is the nearest float64.
func (a Decimal) Float() float64 {
	f, err := a.d.Float64()
	if err != nil {
		return 0 // not of numbers within the bounds of Parse, nor of sums of such
	}
	return f
}

// IsZero reports whether the number is 0.
func (a Decimal) IsZero() bool { return a.d.IsZero() }

// Cmp is -1, 0 or +1 as a is less than, equal to, or greater than b.
func (a *Decimal) Cmp(b *Decimal) int { return a.d.Cmp(&b.d) }

// Plus is a + b.
func (a Decimal) Plus(b Decimal) (sum Decimal) {
	exactly(unrounded.Add(&sum.d, &a.d, &b.d))
	return sum
}

// Minus is a - b.
func (a Decimal) Minus(b Decimal) (difference Decimal) {
	exactly(unrounded.Sub(&difference.d, &a.d, &b.d))
	return difference
}

// Times is a · b.
func (a Decimal) Times(b Decimal) (product Decimal) {
	exactly(unrounded.Mul(&product.d, &a.d, &b.d))
	return product
}

// exactly is where unrounded arithmetic would fail: exponents a hundred thousand apart, which no numbers of Parse have.
func exactly(_ apd.Condition, err error) {
	if err != nil {
		panic(fmt.Sprintf("exact: %v", err))
	}
}

// Mean is sum / n, with 20 digits; 0 for no values.
func Mean(sum Decimal, n int64) (mean Decimal) {
	if n > 0 {
		exactly(printed.Quo(&mean.d, &sum.d, apd.New(n, 0)))
	}
	return mean
}

// Deviation is the standard deviation of n values (of these, not an estimate for others that they were drawn from), by
// their sum and the sum of their squares, with 20 digits. It is 0 for sums that no values have, of a damaged aggregate.
func Deviation(sum, squares Decimal, n int64) (deviation Decimal) {
	if n == 0 {
		return deviation
	}
	variance := Of(n).Times(squares).Minus(sum.Times(sum)) // n² times it, exactly: so it is never below zero for values
	if variance.d.Negative {
		return deviation
	}
	exactly(printed.Sqrt(&deviation.d, &variance.d))
	exactly(printed.Quo(&deviation.d, &deviation.d, apd.New(n, 0)))
	return deviation
}

// Append encodes the number: its exponent, then the length and sign of the coefficient, then that, big-endian.
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

// Read takes a number off an encoding.
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

// ParseFloat is the number as a float64 is printed: the shortest decimal that reads back as it. Errors: ErrNumber.
func ParseFloat(f float64) (Decimal, error) { return Parse(strconv.FormatFloat(f, 'g', -1, 64)) }

// IsNoNumber reports whether a text is what programs write for a number that is none, in any case.
func IsNoNumber(text string) bool {
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}
