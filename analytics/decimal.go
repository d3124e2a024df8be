package analytics

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// Revenue is an exact decimal, written plainly and without zeros that say nothing: "12.5", "-3", and "" for zero. So
// two spellings of one amount are one text.

// The most digits of one event's revenue. A sum may have more.
const (
	maxWholeDigits    = 15
	maxFractionDigits = 6
)

// exact is arithmetic without rounding.
var exact = apd.BaseContext

// addDecimal adds two amounts that parseDecimal made.
func addDecimal(a, b string) string {
	switch {
	case b == "":
		return a
	case a == "":
		return b
	}
	var sum apd.Decimal
	if _, err := exact.Add(&sum, decimal(a), decimal(b)); err != nil {
		return a // not of amounts that parseDecimal made: exponents a hundred thousand apart
	}
	return plain(&sum)
}

// decimal reads an amount that parseDecimal made; what is none counts nothing.
func decimal(s string) *apd.Decimal {
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

// parseDecimal reads a sender's amount: digits with an optional sign and point, at most maxWholeDigits before and
// maxFractionDigits behind it. Nothing is nothing.
func parseDecimal(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	whole, fraction, _ := strings.Cut(digits, ".")
	onlyDigits := strings.Trim(whole+fraction, "0123456789") == ""
	if len(s)-len(digits) > 1 || whole+fraction == "" || !onlyDigits || len(whole) > maxWholeDigits || len(fraction) > maxFractionDigits {
		return "", fmt.Errorf("%q is not an amount of at most %d digits before the point and %d behind it", s, maxWholeDigits, maxFractionDigits)
	}
	d, _, err := apd.NewFromString(s)
	if err != nil {
		return "", fmt.Errorf("%q is not an amount: %w", s, err)
	}
	return plain(d), nil
}
