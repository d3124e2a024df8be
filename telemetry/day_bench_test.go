package telemetry

import (
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

// BenchmarkDay reads one metric of one day of one of 20 devices that send every minute. The
// readings of the last minutes are in blocks.
func BenchmarkDay(b *testing.B) {
	must := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	const devices, minutes, waiting = 20, 24 * 60, 50
	db, err := engine.OpenMemory(engine.Options{Logger: slog.New(slog.DiscardHandler)})
	must(err)
	defer func() { must(db.Close()) }()
	ctx := b.Context()
	must(Schema.Ensure(ctx, db, "bench"))
	now := time.Date(2026, 5, 12, 12, 55, 30, 0, time.UTC)
	t := table.New(db, "bench", table.Options{Clock: func() time.Time { return now }})
	_, err = CreateFleet(ctx, t, NewFleet{ID: "f", Limits: Limits{PerMinute: maxPerMinute}})
	must(err)
	for i := range devices {
		_, err = CreateDevice(ctx, t, NewDevice{ID: fmt.Sprint("d", i), FleetID: "f"})
		must(err)
	}
	c := NewCollector(t, CollectorOptions{})
	start := now.Truncate(time.Minute).Add(-minutes * time.Minute)
	store := func(from, to int) {
		var all []Incoming
		for minute := from; minute < to; minute++ {
			for i := range devices {
				v, err := Number(strconv.Itoa(20+(minute+i)%7) + "." + strconv.Itoa(minute%10))
				must(err)
				all = append(all, Incoming{DeviceID: fmt.Sprint("d", i), At: start.Add(time.Duration(minute) * time.Minute), Values: Values{"temp": v, "humidity": v, "battery": v}})
			}
		}
		outcomes, err := c.Ingest(ctx, all)
		must(err)
		if s := outcomes[0].Status; s != Stored && s != StoredLate {
			b.Fatal(outcomes[0])
		}
	}
	store(0, minutes-waiting)
	_, err = MoveReadings(ctx, t)
	must(err)
	for minute := minutes - waiting; minute < minutes; minute++ {
		store(minute, minute+1)
	}
	in := SeriesIn{DeviceID: "d7", Metric: "temp", From: start, To: now, Resolution: Raw, MaxPoints: 2000}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s, err := ReadSeries(ctx, t, in)
			must(err)
			if len(s.Points) != minutes {
				b.Fatal(len(s.Points))
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		s, err := ReadSeries(ctx, t, in)
		must(err)
		b.ReportAllocs()
		var body []byte
		for b.Loop() {
			body, err = s.AppendJSON(body[:0])
			must(err)
		}
	})
}
