// Package exchange converts amounts of money by daily exchange rates.
package exchange

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"
	"golang.org/x/text/currency"
)

// ErrRates is returned for a file that has no usable rates.
var ErrRates = errors.New("exchange: invalid rates")

// ErrCurrency is returned for a text that is not the code of a currency.
var ErrCurrency = errors.New("exchange: unknown currency")

// Limits of a file. The file of the European Central Bank has 7,000 days and 41 currencies.
const (
	maxDays       = 50_000
	maxCurrencies = 400
	maxRate       = 20 // characters
)

// base is the currency in whose units rates are given. It has no column.
const base = "EUR"

// maxAge is how many days a rate is valid. None are published on weekends and holidays.
const maxAge = 7

// Rates are the reference rates of days. They are immutable.
type Rates struct {
	codes map[string]int // column of a currency
	days  []rates        // ordered by day
}

// rates are the rates of a day, by column: units of the currency for one euro. "" is none.
type rates struct {
	day  string // YYYY-MM-DD
	each []string
}

// Read reads rates in the format of the European Central Bank's file eurofxref-hist.csv: a header
// "Date,USD,JPY,…", then a line per day with the units of each currency for one euro, or "N/A". Days
// may be in any order. Errors: ErrRates, those of the reader.
func Read(r io.Reader) (*Rates, error) {
	lines := csv.NewReader(r)
	lines.ReuseRecord = true
	header, err := lines.Read()
	if err != nil {
		return nil, invalid(err)
	}
	x := &Rates{codes: map[string]int{}}
	if err := x.readHeader(header); err != nil {
		return nil, err
	}
	for {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, invalid(err)
		}
		n, _ := lines.FieldPos(0)
		if err := x.readDay(line); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrRates, n, err)
		}
	}
	if len(x.days) == 0 {
		return nil, fmt.Errorf("%w: the file has no days", ErrRates)
	}
	slices.SortFunc(x.days, func(a, b rates) int { return strings.Compare(a.day, b.day) })
	for i := 1; i < len(x.days); i++ {
		if x.days[i].day == x.days[i-1].day {
			return nil, fmt.Errorf("%w: %s occurs twice", ErrRates, x.days[i].day)
		}
	}
	return x, nil
}

// invalid marks an error of the format, and leaves those of the reader.
func invalid(err error) error {
	var format *csv.ParseError
	if errors.As(err, &format) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", ErrRates, err)
	}
	return err
}

func (x *Rates) readHeader(header []string) error {
	if len(header) > maxCurrencies {
		return fmt.Errorf("%w: more than %d columns", ErrRates, maxCurrencies)
	}
	for i, name := range header {
		name = strings.TrimSpace(name)
		switch {
		case i == 0 && strings.TrimPrefix(name, "\ufeff") != "Date":
			return fmt.Errorf("%w: the first column is %.20q: want Date, then a column per currency", ErrRates, name)
		case i == 0 || name == "": // the file of the bank ends each line with a comma
			continue
		}
		if _, err := Parse(name); err != nil {
			return fmt.Errorf("%w: column %d: %w", ErrRates, i+1, err)
		}
		if _, again := x.codes[name]; again || name == base {
			return fmt.Errorf("%w: column %d: %s occurs twice, or is the currency of all rates", ErrRates, i+1, name)
		}
		x.codes[name] = i
	}
	if len(x.codes) == 0 {
		return fmt.Errorf("%w: no column is a currency", ErrRates)
	}
	return nil
}

func (x *Rates) readDay(line []string) error {
	day := strings.TrimSpace(line[0])
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return fmt.Errorf("%.20q is not a day such as 2026-11-27", day)
	}
	if len(x.days) >= maxDays {
		return fmt.Errorf("more than %d days", maxDays)
	}
	of := rates{strings.Clone(day), make([]string, len(line))}
	for code, i := range x.codes {
		text := strings.TrimSpace(line[i])
		if text == "" || text == "N/A" {
			continue
		}
		rate, _, err := apd.NewFromString(text)
		if err != nil || len(text) > maxRate || strings.Trim(text, "0123456789.") != "" || rate.Sign() <= 0 {
			return fmt.Errorf("%s: %.20q is not a rate", code, text)
		}
		of.each[i] = strings.Clone(text)
	}
	x.days = append(x.days, of)
	return nil
}

// Days returns the first and the last day with rates, YYYY-MM-DD.
func (x *Rates) Days() (first, last string) { return x.days[0].day, x.days[len(x.days)-1].day }

// Parse returns the code of a currency in capital letters. Errors: ErrCurrency.
func Parse(code string) (string, error) {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return "", fmt.Errorf("%w %.20q: use a code of ISO 4217, such as EUR", ErrCurrency, code)
	}
	return unit.String(), nil
}

// arithmetic is precise enough that only the result is rounded.
var arithmetic = apd.BaseContext.WithPrecision(60)

// Convert converts an amount, a decimal, from one currency to another by the rates of a day or, if it
// has none, of the latest day with both within a week before. The result is rounded half to even, to the
// decimals of the currency. Without such rates, ok is false; a nil Rates has none.
func (x *Rates) Convert(amount, from, to string, at time.Time) (result string, ok bool) {
	a, b := x.at(from, to, at)
	if a == nil {
		return "", false
	}
	of, _, err := apd.NewFromString(amount)
	if err != nil {
		return "", false
	}
	var d apd.Decimal
	if _, err = arithmetic.Mul(&d, of, b); err != nil {
		return "", false
	}
	if _, err = arithmetic.Quo(&d, &d, a); err != nil {
		return "", false
	}
	half := *arithmetic
	half.Rounding = apd.RoundHalfEven
	if _, err = half.Quantize(&d, &d, -int32(decimals(to))); err != nil {
		return "", false
	}
	return d.Text('f'), true
}

// decimals returns how many decimals a currency has, such as 2 for EUR and 0 for JPY.
func decimals(code string) int {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return 2
	}
	scale, _ := currency.Standard.Rounding(unit)
	return scale
}

// at returns the latest rates of two currencies up to a time, or nil.
func (x *Rates) at(from, to string, at time.Time) (a, b *apd.Decimal) {
	if x == nil {
		return nil, nil
	}
	day, oldest := at.UTC().Format(time.DateOnly), at.UTC().AddDate(0, 0, -maxAge).Format(time.DateOnly)
	i, found := slices.BinarySearchFunc(x.days, day, func(r rates, day string) int { return strings.Compare(r.day, day) })
	if !found {
		i--
	}
	for ; i >= 0 && x.days[i].day >= oldest; i-- {
		if a, b = x.rate(i, from), x.rate(i, to); a != nil && b != nil {
			return a, b
		}
	}
	return nil, nil
}

// rate returns the units of a currency for one euro on a day, or nil.
func (x *Rates) rate(i int, code string) *apd.Decimal {
	if code == base {
		return apd.New(1, 0)
	}
	column, known := x.codes[code]
	if !known {
		return nil
	}
	rate, _, err := apd.NewFromString(x.days[i].each[column])
	if err != nil {
		return nil
	}
	return rate
}
