package query

import (
	"fmt"
	"log/slog"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// BenchmarkFleet asks for figures of one metric of 1,000 devices that sent three metrics every minute
// for 24 hours, by the hour.
func BenchmarkFleet(b *testing.B) {
	must := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	const devices, hours = 1000, 24
	now := time.Date(2026, 5, 12, 12, 0, 30, 0, time.UTC)
	clock := func() time.Time { return now }
	db, err := engine.OpenMemory(engine.Options{Logger: slog.New(slog.DiscardHandler), Clock: clock})
	must(err)
	defer func() { must(db.Close()) }()
	ctx := b.Context()
	must(telemetry.Schema.Ensure(ctx, db, "bench"))
	t := table.New(db, "bench", table.Options{Clock: clock})
	described, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("bench")})
	must(err)
	w, err := fold.NewWorker(t, streamsource.New(db, *described.Table.LatestStreamArn), telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)}), fold.Options{Group: telemetry.FoldGroup})
	must(err)
	_, err = telemetry.CreateFleet(ctx, t, telemetry.NewFleet{ID: "f", TimeZone: "Europe/Berlin", Limits: telemetry.Limits{PerMinute: 1_000_000}})
	must(err)
	for i := range devices {
		_, err = telemetry.CreateDevice(ctx, t, telemetry.NewDevice{ID: fmt.Sprint("d", i), FleetID: "f", Type: fmt.Sprint("t", i%10)})
		must(err)
	}
	c := telemetry.NewCollector(t, telemetry.CollectorOptions{})
	start := now.Truncate(time.Hour).Add(-hours * time.Hour)
	for hour := range hours {
		for from := 0; from < devices; from += 50 {
			var all []telemetry.Incoming
			for i := from; i < from+50; i++ {
				for minute := range 60 {
					v := number(strconv.Itoa(20+(minute+i)%7) + "." + strconv.Itoa((minute*hour)%10))
					all = append(all, telemetry.Incoming{DeviceID: fmt.Sprint("d", i), At: start.Add(time.Duration(hour*60+minute) * time.Minute), Imported: true, Values: telemetry.Values{"temp": v, "humidity": v, "battery": v}})
				}
			}
			_, err := c.Ingest(ctx, all)
			must(err)
		}
		must(w.Drain(ctx))
		_, err := telemetry.MoveReadings(ctx, t)
		must(err)
	}
	must(w.Drain(ctx))
	in := Request{FleetID: "f", Metric: "temp", From: start, To: start.Add(hours * time.Hour), Step: StepHour}
	for name, change := range map[string]func(*Request){
		"avg":             func(r *Request) { r.Function = Average },
		"avg by type":     func(r *Request) { r.Function, r.GroupBy = Average, ByType },
		"max by device":   func(r *Request) { r.Function, r.GroupBy = Maximum, ByDevice },
		"p95":             func(r *Request) { r.Function = "p95" },
		"avg of readings": func(r *Request) { r.Function, r.Source = Average, RawReadings },
	} {
		ask := in
		change(&ask)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			began := processorTime()
			for b.Loop() {
				got, err := Do(ctx, t, ask)
				must(err)
				if len(got.Rows) < hours {
					b.Fatal(len(got.Rows))
				}
			}
			b.ReportMetric(float64(processorTime()-began)/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime returns the processor time of the process: on a busy machine, the time of a query says
// little.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
