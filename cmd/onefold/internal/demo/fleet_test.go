package demo

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/maintenance"
	"github.com/onefold/onefold/telemetry/presence"
)

// The demo's fleet has a room that is too warm, a silent pump, and a resolved alert.
func TestFleet(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	db, err := engine.OpenMemory(engine.Options{})
	must(err)
	t.Cleanup(func() { must(db.Close()) })
	must(table.MustSchema("demo", telemetry.Schema, alerts.Schema).Ensure(ctx, db, "demo"))
	described, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("demo")})
	must(err)
	tbl := table.New(db, "demo", table.Options{})
	folds := append(telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(tbl)}), alerts.Fold())
	worker, err := fold.NewWorker(tbl, streamsource.New(db, *described.Table.LatestStreamArn), folds, fold.Options{Group: "demo"})
	must(err)

	f, err := NewFleet(1, time.Now(), 2)
	must(err)
	f.Open(tbl)
	must(f.Create(ctx))
	n, err := f.Fill(ctx)
	must(err)
	if full := 2 * inHall * 2 * 24 * 60; n < full*9/10 || n > full {
		t.Errorf("%d readings, want about %d", n, full)
	}
	must(worker.Drain(ctx))
	_, err = maintenance.Run(ctx, tbl, worker)
	must(err)
	_, err = presence.Sweep(ctx, tbl, time.Time{})
	must(err)
	must(alerts.Sweep(ctx, tbl, time.Time{}))
	for device, want := range map[string]telemetry.AlertState{"south-coldroom-1": telemetry.Firing, "south-pump-2": telemetry.Firing, "north-coldroom-1": telemetry.Resolved} {
		all, err := telemetry.AlertsOfDevice.Collect(ctx, tbl, telemetry.DeviceIn{DeviceID: device})
		must(err)
		if len(all) != 1 || all[0].State != want {
			t.Errorf("%s: %+v, want one that is %s", device, all, want)
		}
	}
	silent, err := telemetry.ReadStatus(ctx, tbl, f.silent)
	must(err)
	if silent.Connectivity != telemetry.Offline {
		t.Errorf("%s is %s", f.silent, silent.Connectivity)
	}
}
