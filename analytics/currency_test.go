package analytics

import (
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/exchange"
)

// An event may name the site's own currency, whatever that is: a site may count points, or bitcoins,
// which ISO 4217 lacks.
func TestRevenueInTheCurrencyOfTheSite(t *testing.T) {
	w := newWorld(t, noon)
	_, err := CreateSite(w.Ctx, w.Table, NewSite{ID: "coins", Settings: Settings{Currency: "BTC"}})
	w.Must(err)
	for currency, want := range map[string]Outcome{
		"": {Status: Stored}, "BTC": {Status: Stored}, "btc": {Status: Stored},
		"EUR": {Status: Stored, Warning: NoExchangeRate}, "ETH": {Status: Rejected, Reason: BadCurrency},
	} {
		got := w.ingest("coins", Hit{Path: "/", Address: "192.0.2.1", UserAgent: "test", Revenue: "0.5", Currency: currency})[0]
		if got.Status != want.Status || got.Reason != want.Reason || got.Warning != want.Warning {
			t.Errorf("currency %q: %+v, want %+v", currency, got, want)
		}
	}
}

// An event that was converted and is sent again counts once, with the first rate. Its outcome does not
// warn of a rate that is missing by now.
func TestADuplicateHasNoWarning(t *testing.T) {
	w := newWorld(t, noon)
	w.site("site", "UTC")
	rates, err := exchange.Read(strings.NewReader("Date,USD\n" + noon.Format(time.DateOnly) + ",1.25\n"))
	w.Must(err)
	h := Hit{EventID: idAt(noon), Path: "/", Address: "192.0.2.1", UserAgent: "test", Revenue: "5", Currency: "USD", Rates: rates}
	if got := w.ingest("site", h)[0]; got.Status != Stored || got.Warning != "" {
		t.Errorf("at first: %+v", got)
	}
	h.Rates = nil
	previewed, err := w.collector.Preview(w.Ctx, "site", []Hit{h})
	w.Must(err)
	for _, got := range append(previewed, w.ingest("site", h)...) {
		if got.Status != Duplicate || got.Warning != "" {
			t.Errorf("again: %+v", got)
		}
	}
}
