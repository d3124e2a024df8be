package item

// ParseNumber parses a decimal number: an optional sign, digits with at most one point, and an
// optional exponent. Errors: ErrNotNumeric, ErrOverflow, ErrUnderflow and ErrPrecision, with the
// texts of DynamoDB. Its time depends only on the length of the text, not on the exponent.
func ParseNumber(s string) (Number, error) {
	if s == "" {
		return Number{}, ErrNotNumeric
	}
	sc := scan{text: s}
	if !sc.run() {
		return Number{}, &detailError{cause: ErrNotNumeric, detail: ": " + s}
	}
	return sc.number()
}

// maxExponent is where counting an exponent stops: far beyond the valid range, and far from
// overflowing an int.
const maxExponent = 1 << 24

// scan scans the text of a number in a single pass.
type scan struct {
	text   string
	pos    int
	neg    bool
	hi, lo uint64 // the first 38 significant digits, without trailing zeros
	used   int    // number of digits in hi and lo
	zeros  int    // zeros since the last nonzero digit
	excess bool   // more than 38 significant digits
	any    bool   // at least one digit was seen
	scale  int    // digits after the point
	exp    int
}

func (s *scan) run() bool {
	s.sign(&s.neg)
	s.digits(false)
	if s.pos < len(s.text) && s.text[s.pos] == '.' {
		s.pos++
		s.digits(true)
	}
	if !s.any {
		return false
	}
	if s.pos < len(s.text) && s.text[s.pos]|0x20 == 'e' {
		s.pos++
		if !s.exponent() {
			return false
		}
	}
	return s.pos == len(s.text)
}

func (s *scan) sign(neg *bool) {
	if s.pos < len(s.text) && (s.text[s.pos] == '-' || s.text[s.pos] == '+') {
		*neg = s.text[s.pos] == '-'
		s.pos++
	}
}

func (s *scan) digits(fraction bool) {
	for ; s.pos < len(s.text); s.pos++ {
		c := s.text[s.pos] - '0'
		if c > 9 {
			return
		}
		s.any = true
		if fraction {
			s.scale++
		}
		s.digit(c)
	}
}

// digit processes one digit. Zeros are only counted until a later digit shows that they are
// significant.
func (s *scan) digit(c byte) {
	if c == 0 {
		if s.used > 0 {
			s.zeros++
		}
		return
	}
	shift := s.zeros + 1
	if s.used == 0 {
		shift = 1
	}
	if s.excess || s.used+shift > maxDigits {
		// The digits no longer matter, but their number does: it determines the magnitude, whose
		// errors take precedence.
		s.excess, s.used, s.zeros = true, s.used+shift, 0
		return
	}
	if s.used+shift <= 19 {
		s.lo = s.lo*pow10[shift][1] + uint64(c)
	} else {
		s.hi, s.lo, _ = mul128(s.hi, s.lo, pow10[shift][0], pow10[shift][1])
		var carry uint64
		if s.lo += uint64(c); s.lo < uint64(c) {
			carry = 1
		}
		s.hi += carry
	}
	s.used, s.zeros = s.used+shift, 0
}

func (s *scan) exponent() bool {
	var neg bool
	s.sign(&neg)
	start, e := s.pos, 0
	for ; s.pos < len(s.text); s.pos++ {
		c := s.text[s.pos] - '0'
		if c > 9 {
			break
		}
		e = min(e*10+int(c), maxExponent)
	}
	if neg {
		e = -e
	}
	s.exp = e
	return s.pos > start
}

func (s *scan) number() (Number, error) {
	if s.used == 0 {
		return Number{}, nil
	}
	exp := s.exp - s.scale + s.zeros
	switch m := s.used + exp - 1; {
	case m > maxMagnitude:
		return Number{}, ErrOverflow
	case m < minMagnitude:
		return Number{}, ErrUnderflow
	case s.excess:
		return Number{}, ErrPrecision
	}
	return Number{hi: s.hi, lo: s.lo, exp: int16(exp), neg: s.neg}, nil
}
