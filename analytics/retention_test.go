package analytics

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

func TestRetentionDefaults(t *testing.T) {
	var r Retention
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	if r.Raw() != 730*day || r.Late() != 30*day || r.Of(Hour) != 90*day || r.Of(Day) != 730*day || r.Of(Month) != 0 {
		t.Errorf("defaults are raw %v, late %v, hour %v, day %v, month %v", r.Raw(), r.Late(), r.Of(Hour), r.Of(Day), r.Of(Month))
	}
	if r := (Retention{DayDays: 1000}); r.Raw() != 1000*day || r.Late() != 30*day {
		t.Errorf("with days for 1,000 days, raw %v, late %v", r.Raw(), r.Late())
	}
	if r := (Retention{RawDays: 5}); r.Raw() != 5*day || r.Late() != 5*day {
		t.Errorf("with raw events for 5 days, raw %v, late %v", r.Raw(), r.Late())
	}
}

func TestRetentionErrors(t *testing.T) {
	for name, r := range map[string]Retention{
		"raw gone before its day closes":             {RawDays: 1},
		"negative":                                   {RawDays: -3},
		"hours gone while late events may come":      {RawDays: 30, HourDays: 30},
		"days gone before their month is rolled up":  {RawDays: 30, HourDays: 32, DayDays: 60},
		"days gone before their hours":               {RawDays: 30, HourDays: 400, DayDays: 300},
		"months gone before their days":              {MonthDays: 365},
		"more than a hundred years: say for ever":    {MonthDays: 1_000_000},
		"raw events longer than the default of days": {RawDays: 731},
		"raw events longer than days":                {RawDays: 120, DayDays: 100},
	} {
		if err := r.Check(); !errors.Is(err, ErrRetention) {
			t.Errorf("%s: %+v: error %v", name, r, err)
		}
	}
	for _, r := range []Retention{{RawDays: 2, HourDays: 4, DayDays: 35}, {RawDays: 30, HourDays: 32, DayDays: 63}, {RawDays: 120}, {HourDays: 32}, {HourDays: 32, DayDays: 63}, {MonthDays: 3650}} {
		if err := r.Check(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// Nothing expires early, and items expire at whole hours.
func TestItemsExpireAtWholeHours(t *testing.T) {
	now := time.Date(2026, 5, 12, 14, 33, 21, 0, time.UTC)
	w := newWorld(t, now)
	w.site("s", "Asia/Kolkata") // whose hours begin at half past in UTC
	at := []time.Time{now, now.Add(-7 * time.Minute), now.Add(-40 * time.Hour)}
	for i, when := range at {
		w.ingest("s", Hit{At: when, URL: "https://example.com/p", Address: "192.0.2.1", UserAgent: fmt.Sprint("agent ", i), UserID: "ann"})
	}
	w.Must(w.Worker.Drain(w.Ctx))
	least := map[string]time.Duration{"BLOCK": 730 * 24 * time.Hour, "VISITS": 90 * 24 * time.Hour, "SESSION": 90 * 24 * time.Hour, "STATS": 90 * 24 * time.Hour, "BREAKDOWN": 90 * 24 * time.Hour}
	seen := map[string]int{}
	out, err := w.Table.API().Scan(w.Ctx, &dynamodb.ScanInput{TableName: aws.String(w.Table.Name())})
	w.Must(err)
	for _, it := range out.Items {
		sk := it[table.AttrSK].(*types.AttributeValueMemberS).Value
		kind, _, _ := strings.Cut(sk, "#")
		keep, checked := least[kind]
		if !checked {
			continue
		}
		seen[kind]++
		ttl, err := strconv.ParseInt(it[table.AttrTTL].(*types.AttributeValueMemberN).Value, 10, 64)
		w.Must(err)
		left := time.Unix(ttl, 0).Sub(now)
		if ttl%3600 != 0 || left < keep-7*time.Minute || left > keep+2*time.Hour {
			t.Errorf("%s expires %s from now, at %s", sk, left, time.Unix(ttl, 0).UTC())
		}
	}
	for kind := range least {
		if seen[kind] < 2 {
			t.Errorf("%d items of kind %s", seen[kind], kind)
		}
	}
}
