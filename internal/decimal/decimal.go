// Package decimal adds amounts of money exactly. An amount is text in canonical form, without
// superfluous zeros: "12.5", "-3", and "" for zero. So equal amounts are equal texts, and can be
// compared and stored as they are.
package decimal

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// The maximum number of digits of an amount that is parsed. A sum may have more.
const (
	maxWholeDigits    = 15
	maxFractionDigits = 6
)

// exact is arithmetic without rounding.
var exact = apd.BaseContext

// Add adds two amounts that were returned by this package.
func Add(a, b string) string {
	switch {
	case b == "":
		return a
	case a == "":
		return b
	}
	var sum apd.Decimal
	if _, err := exact.Add(&sum, read(a), read(b)); err != nil {
		return a // unreachable for such amounts: their exponents would be a hundred thousand apart
	}
	return plain(&sum)
}

// Times multiplies an amount that was returned by this package.
func Times(a string, n int64) string {
	switch {
	case a == "" || n == 0:
		return ""
	case n == 1:
		return a
	}
	var product apd.Decimal
	if _, err := exact.Mul(&product, read(a), apd.New(n, 0)); err != nil {
		return a // as in Add
	}
	return plain(&product)
}

// Compare returns a negative number if a is less than b, 0 if they are equal, otherwise a positive
// number. Both were returned by this package.
func Compare(a, b string) int { return read(a).Cmp(read(b)) }

// read converts an amount. Invalid amounts count as zero.
func read(s string) *apd.Decimal {
	if d, _, err := apd.NewFromString(s); err == nil {
		return d
	}
	return new(apd.Decimal)
}

func plain(d *apd.Decimal) string {
	if d.IsZero() {
		return ""
	}
	d.Reduce(d)
	return d.Text('f')
}

// Parse parses an amount: digits with an optional sign and point, at most 15 before and 6 after it.
// An empty text is zero. The error says what is wrong with the text.
func Parse(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	whole, fraction, _ := strings.Cut(digits, ".")
	onlyDigits := strings.Trim(whole+fraction, "0123456789") == ""
	if len(s)-len(digits) > 1 || whole+fraction == "" || !onlyDigits || len(whole) > maxWholeDigits || len(fraction) > maxFractionDigits {
		return "", fmt.Errorf("%q is not an amount with at most %d digits before the decimal point and %d after it", s, maxWholeDigits, maxFractionDigits)
	}
	d, _, err := apd.NewFromString(s)
	if err != nil {
		return "", fmt.Errorf("%q is not an amount: %w", s, err)
	}
	return plain(d), nil
}
