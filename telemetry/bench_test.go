package telemetry

import (
	"fmt"
	"log/slog"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// BenchmarkIngest durably stores and folds batches of 1,000 readings. Each reading has three
// metrics, and 100 devices send every second.
func BenchmarkIngest(b *testing.B) {
	must := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	db, err := engine.Open(b.TempDir(), engine.Options{Logger: slog.New(slog.DiscardHandler)})
	must(err)
	defer func() { must(db.Close()) }()
	ctx := b.Context()
	must(Schema.Ensure(ctx, db, "bench"))
	t := table.New(db, "bench", table.Options{})
	_, err = CreateFleet(ctx, t, NewFleet{ID: "f", Limits: Limits{PerMinute: maxPerMinute}})
	must(err)
	var devices []NewDevice
	for i := range 100 {
		devices = append(devices, NewDevice{ID: fmt.Sprint("d", i), FleetID: "f"})
	}
	_, errs := CreateDevices(ctx, t, devices)
	for _, err := range errs {
		must(err)
	}
	d, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: new("bench")})
	must(err)
	w, err := fold.NewWorker(t, streamsource.New(db, *d.Table.LatestStreamArn), Folds(Config{Retention: FleetRetention(t)}), fold.Options{Group: FoldGroup})
	must(err)
	c := NewCollector(t, CollectorOptions{})
	start := time.Now().Add(-24 * time.Hour)
	batch := make([]Incoming, 1000)
	n := 0
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		for i := range batch {
			temp, err := Number(strconv.Itoa(n%500) + "." + strconv.Itoa(n%10))
			must(err)
			batch[i] = Incoming{DeviceID: devices[i/10].ID, At: start.Add(time.Duration(n/1000*10+i%10) * time.Second), Imported: true,
				Values: Values{"temp": temp, "humidity": temp, "battery": temp}}
			n++
		}
		outcomes, err := c.Ingest(ctx, batch)
		must(err)
		if outcomes[0].Status != Stored {
			b.Fatal(outcomes[0])
		}
		if n%20_000 == 0 {
			must(w.Drain(ctx))
		}
	}
	must(w.Drain(ctx))
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "readings/s")
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(n), "cpu-µs/reading")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
