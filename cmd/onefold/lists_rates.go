package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/decimal"
	"github.com/onefold/onefold/internal/exchange"
)

type listsRates struct {
	File   string `arg:"" type:"path" help:"File with exchange rates, in the format of the European Central Bank."`
	Amount string `arg:"" optional:"" help:"Amount to convert, such as 12.50."`
	From   string `arg:"" optional:"" help:"Currency of the amount, such as USD."`
	To     string `arg:"" optional:"" default:"EUR" help:"Currency to convert to."`
	On     string `help:"Day of the rate (default: today)." placeholder:"YYYY-MM-DD"`
}

// ratesReport describes a file of exchange rates and a converted amount.
type ratesReport struct {
	First     string `json:"first"`
	Last      string `json:"last"`
	Converted string `json:"converted,omitempty"`
	Currency  string `json:"currency,omitempty"`
}

// Run reads the file and converts the amount.
func (c *listsRates) Run(std streams, g *globals) error {
	f, err := os.Open(c.File)
	if err != nil {
		return fmt.Errorf("no_such_file: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	rates, err := exchange.Read(f)
	if err != nil {
		return fmt.Errorf("bad_rates: %s: %w", c.File, err)
	}
	var r ratesReport
	r.First, r.Last = rates.Days()
	if c.Amount != "" {
		if err := c.convert(&r, rates); err != nil {
			return err
		}
	}
	if g.JSON {
		return printJSON(std.out, r)
	}
	p := &printer{out: std.out}
	p.line("Exchange rates from %s to %s.", r.First, r.Last)
	if c.Amount != "" {
		p.line("%s %s is %s %s.", c.Amount, strings.ToUpper(c.From), r.Converted, r.Currency)
	}
	return p.err
}

func (c *listsRates) convert(r *ratesReport, rates *exchange.Rates) error {
	amount, err := decimal.Parse(c.Amount)
	if err != nil {
		return fmt.Errorf("bad_amount: %w", err)
	}
	from, err := exchange.Parse(c.From)
	if err != nil {
		return fmt.Errorf("bad_currency: %w", err)
	}
	to, err := exchange.Parse(c.To)
	if err != nil {
		return fmt.Errorf("bad_currency: %w", err)
	}
	at := time.Now()
	if c.On != "" {
		if at, err = time.Parse(time.DateOnly, c.On); err != nil {
			return fmt.Errorf("bad_day: --on %s: use a day such as 2026-11-27", c.On)
		}
	}
	var ok bool
	if r.Converted, ok = rates.Convert(amount, from, to, at); !ok {
		return fmt.Errorf("no_exchange_rate: the file has no rate of %s and %s on %s or in the week before", from, to, at.UTC().Format(time.DateOnly))
	}
	r.Currency = to
	return nil
}
