package item

import (
	"cmp"
	"math/bits"
	"strconv"
)

// Limits of DynamoDB numbers ("Supported data types: Number").
const (
	maxDigits    = 38   // significant digits
	maxMagnitude = 125  // exponent of the leading digit of the largest number, 9.99…E+125
	minMagnitude = -130 // exponent of the leading digit of the smallest number, 1E-130
)

// Number is a DynamoDB number: up to 38 significant decimal digits with an exponent. It is a
// comparable value, and equal numbers are equal values, because the coefficient has no trailing
// zeros and zero has no sign:
//
//	value = (-1)^neg × (hi·2^64 + lo) × 10^exp
//
// 38 digits are below 2^127, so the coefficient fits two words and arithmetic on it needs no
// allocation. The zero value is the number zero.
type Number struct {
	hi, lo uint64
	exp    int16
	neg    bool
}

// pow10 holds 10^0 … 10^38.
var pow10 = func() (t [maxDigits + 1][2]uint64) {
	t[0] = [2]uint64{0, 1}
	for i := 1; i < len(t); i++ {
		t[i][0], t[i][1], _ = mul128(t[i-1][0], t[i-1][1], 0, 10)
	}
	return t
}()

// IntNumber returns the number n.
func IntNumber(n int64) Number {
	u := uint64(n)
	if n < 0 {
		u = -u
	}
	return canonical(n < 0, 0, u, 0)
}

// canonical returns the number (hi·2⁶⁴ + lo)·10^exp, negated if neg is set, in the one form in which
// equal numbers are equal: zero is Number{}, and other coefficients have no trailing zeros. It does
// not check the exponent's range: call checked on the result.
func canonical(neg bool, hi, lo uint64, exp int) Number {
	if hi == 0 && lo == 0 {
		return Number{}
	}
	for hi != 0 {
		qh, ql, r := div10(hi, lo)
		if r != 0 {
			break
		}
		hi, lo, exp = qh, ql, exp+1
	}
	for hi == 0 && lo%10 == 0 {
		lo, exp = lo/10, exp+1
	}
	return Number{hi: hi, lo: lo, exp: int16(exp), neg: neg}
}

// IsZero reports whether the number is zero.
func (n Number) IsZero() bool { return n.hi == 0 && n.lo == 0 }

// Sign returns -1, 0 or 1.
func (n Number) Sign() int {
	switch {
	case n.IsZero():
		return 0
	case n.neg:
		return -1
	}
	return 1
}

// Neg returns the negated number.
func (n Number) Neg() Number {
	n.neg = !n.neg && !n.IsZero()
	return n
}

// Int64 returns the number as an int64, and whether it is one.
func (n Number) Int64() (int64, bool) {
	if n.exp < 0 || n.exp > 18 || n.hi != 0 {
		return 0, false
	}
	hi, lo := bits.Mul64(n.lo, pow10[n.exp][1])
	if hi != 0 || lo > 1<<63 || (lo == 1<<63 && !n.neg) {
		return 0, false
	}
	if n.neg {
		return -int64(lo), true
	}
	return int64(lo), true
}

// digits returns the number of digits in the coefficient, 0 for zero.
func (n Number) digits() int { return digits128(n.hi, n.lo) }

// magnitude returns the exponent of the leading digit: 0 for 1…9, -1 for 0.1.
func (n Number) magnitude() int { return n.digits() + int(n.exp) - 1 }

// Cmp compares two numbers by value and returns -1, 0 or 1.
func (n Number) Cmp(o Number) int {
	if s, t := n.Sign(), o.Sign(); s != t || s == 0 {
		return cmp.Compare(s, t)
	}
	c := n.cmpAbs(o)
	if n.neg {
		return -c
	}
	return c
}

func (n Number) cmpAbs(o Number) int {
	if c := cmp.Compare(n.magnitude(), o.magnitude()); c != 0 {
		return c
	}
	nh, nl, oh, ol := n.hi, n.lo, o.hi, o.lo
	// With equal magnitudes and at most 38 digits each, the exponents differ by less than 38, and
	// scaling gives the coefficients equally many digits.
	if d := int(n.exp) - int(o.exp); d > 0 {
		nh, nl, _ = mul128(nh, nl, pow10[d][0], pow10[d][1])
	} else if d < 0 {
		oh, ol, _ = mul128(oh, ol, pow10[-d][0], pow10[-d][1])
	}
	if c := cmp.Compare(nh, oh); c != 0 {
		return c
	}
	return cmp.Compare(nl, ol)
}

// Add returns the exact sum n + o, or ErrPrecision, ErrOverflow or ErrUnderflow. It never rounds.
func (n Number) Add(o Number) (Number, error) {
	if n.IsZero() {
		return o, nil
	}
	if o.IsZero() {
		return n, nil
	}
	if n.exp < o.exp {
		n, o = o, n
	}
	// o has the lower exponent. If the exponents differ, its last digit, which is not zero, is also
	// the last digit of the sum. So if the scaled coefficient exceeds 128 bits, the sum has more
	// than 38 digits, even after subtracting 38 digits from it.
	d := int(n.exp) - int(o.exp)
	if d > maxDigits {
		return Number{}, ErrPrecision
	}
	nh, nl, over := mul128(n.hi, n.lo, pow10[d][0], pow10[d][1])
	if over {
		return Number{}, ErrPrecision
	}
	var hi, lo uint64
	neg := n.neg
	if n.neg == o.neg {
		var c uint64
		lo, c = bits.Add64(nl, o.lo, 0)
		hi, c = bits.Add64(nh, o.hi, c)
		if c != 0 {
			return Number{}, ErrPrecision
		}
	} else {
		hi, lo, neg = subAbs(nh, nl, o.hi, o.lo, n.neg)
	}
	return canonical(neg, hi, lo, int(o.exp)).checked()
}

// subAbs returns |a - b| of two coefficients, and the sign of the difference if a has the sign neg.
func subAbs(ah, al, bh, bl uint64, neg bool) (hi, lo uint64, sign bool) {
	if ah < bh || (ah == bh && al < bl) {
		ah, al, bh, bl, neg = bh, bl, ah, al, !neg
	}
	lo, c := bits.Sub64(al, bl, 0)
	hi, _ = bits.Sub64(ah, bh, c)
	return hi, lo, neg
}

// checked applies DynamoDB's limits to a result.
func (n Number) checked() (Number, error) {
	if n.IsZero() {
		return Number{}, nil
	}
	switch m := n.magnitude(); {
	case m > maxMagnitude:
		return Number{}, ErrOverflow
	case m < minMagnitude:
		return Number{}, ErrUnderflow
	case n.digits() > maxDigits:
		return Number{}, ErrPrecision
	}
	return n, nil
}

// Size returns the size of the number in an item, in bytes: one, plus one for every two significant
// digits on either side of the decimal point, plus one for a minus sign. Leading and trailing zeros
// do not count. (This was measured on DynamoDB by bisecting the 400 KB limit; the documentation
// says "approximately".)
func (n Number) Size() int {
	all := n.digits()
	whole := min(max(all+int(n.exp), 0), all)
	size := 1 + (whole+1)/2 + (all-whole+1)/2
	if n.neg {
		size++
	}
	return size
}

// String returns the number in plain decimal notation without superfluous zeros, like DynamoDB.
func (n Number) String() string {
	if i, ok := n.Int64(); ok {
		return strconv.FormatInt(i, 10)
	}
	return string(n.AppendText(make([]byte, 0, 48)))
}

// AppendText appends the result of String.
func (n Number) AppendText(dst []byte) []byte {
	if i, ok := n.Int64(); ok {
		return strconv.AppendInt(dst, i, 10)
	}
	if n.neg {
		dst = append(dst, '-')
	}
	var buf [40]byte
	digits := n.coefficient(buf[:0])
	point := len(digits) + int(n.exp) // digits before the decimal point; may be negative or exceed their number
	switch {
	case point <= 0:
		dst = appendZeros(append(dst, '0', '.'), -point)
		return append(dst, digits...)
	case point >= len(digits):
		return appendZeros(append(dst, digits...), point-len(digits))
	}
	dst = append(append(dst, digits[:point]...), '.')
	return append(dst, digits[point:]...)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// coefficient appends the decimal digits of the coefficient.
func (n Number) coefficient(dst []byte) []byte {
	if n.hi == 0 {
		return strconv.AppendUint(dst, n.lo, 10)
	}
	// Two halves of 19 digits. The upper one is not zero, because 10^19 < 2^64 ≤ coefficient.
	const half = 19
	p := pow10[half][1]
	qh, r := bits.Div64(0, n.hi, p)
	ql, r := bits.Div64(r, n.lo, p)
	if qh != 0 { // cannot happen below 10^38 < 10^19·2^64; exact for any coefficient
		dst = Number{hi: qh, lo: ql}.coefficient(dst)
	} else {
		dst = strconv.AppendUint(dst, ql, 10)
	}
	var buf [half]byte
	low := strconv.AppendUint(buf[:0], r, 10)
	return append(appendZeros(dst, half-len(low)), low...)
}

// mul128 multiplies two 128-bit numbers. over reports that the product does not fit.
func mul128(ah, al, bh, bl uint64) (hi, lo uint64, over bool) {
	if ah != 0 && bh != 0 {
		return 0, 0, true
	}
	hi, lo = bits.Mul64(al, bl)
	c1, m1 := bits.Mul64(ah, bl)
	c2, m2 := bits.Mul64(al, bh)
	hi, k1 := bits.Add64(hi, m1, 0)
	hi, k2 := bits.Add64(hi, m2, 0)
	return hi, lo, c1|c2|k1|k2 != 0
}

// div10 divides a 128-bit number by ten.
func div10(hi, lo uint64) (qh, ql, rem uint64) {
	qh, rem = hi/10, hi%10
	ql, rem = bits.Div64(rem, lo, 10)
	return qh, ql, rem
}

// digits128 returns the number of decimal digits, 0 for zero.
func digits128(hi, lo uint64) int {
	if hi == 0 && lo == 0 {
		return 0
	}
	n := bits.Len64(lo)
	if hi != 0 {
		n = 64 + bits.Len64(hi)
	}
	d := n * 1233 >> 12 // ⌊n·log10 2⌋, exact for n ≤ 128: the number of digits, or one less
	if d > maxDigits {
		return d
	}
	if p := pow10[d]; hi > p[0] || (hi == p[0] && lo >= p[1]) {
		d++
	}
	return d
}

// AppendDigits appends the significant decimal digits as text: "125" for 12500, nothing for zero.
func (n Number) AppendDigits(dst []byte) []byte {
	if n.IsZero() {
		return dst
	}
	return n.coefficient(dst)
}

// Exponent returns the power of ten by which the digits of AppendDigits are multiplied: 2 for
// 12500.
func (n Number) Exponent() int { return int(n.exp) }

// NumberOf returns ±digits × 10^exp. It returns ErrNotNumeric if digits is empty or has other
// characters than '0' to '9'; other errors are those of ParseNumber.
func NumberOf(neg bool, digits []byte, exp int) (Number, error) {
	var sc scan
	for _, c := range digits {
		if c-'0' > 9 {
			return Number{}, ErrNotNumeric
		}
		sc.digit(c - '0')
	}
	if len(digits) == 0 {
		return Number{}, ErrNotNumeric
	}
	sc.neg, sc.exp = neg, exp
	return sc.number()
}
