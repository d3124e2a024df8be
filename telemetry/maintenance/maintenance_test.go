package maintenance_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/maintenance"
)

// world is an in-memory installation with a fleet, a profile and one device.
type world struct {
	*foldtest.World
	c *telemetry.Collector
}

func newWorld(t *testing.T, at time.Time) *world {
	t.Helper()
	w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: telemetry.Schema, Group: telemetry.FoldGroup, At: at, Engine: engine.Options{StreamShards: 3, RollEvery: 300},
		Folds: func(t *table.Table) []*fold.Fold {
			return telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)})
		},
	})}
	w.c = telemetry.NewCollector(w.Table, telemetry.CollectorOptions{})
	_, err := telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: "plant", TimeZone: "UTC", TenMinutes: true, Limits: telemetry.Limits{PerMinute: 1_000_000}})
	w.Must(err)
	_, err = telemetry.PutProfile(w.Ctx, w.Table, telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: "meter"}, FleetID: "plant"})
	w.Must(err)
	w.device("d1")
	return w
}

func (w *world) device(id string) {
	w.Helper()
	_, err := telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: id, FleetID: "plant", ProfileID: "meter", Type: "sensor"})
	w.Must(err)
}

func (w *world) ingest(in ...telemetry.Incoming) []telemetry.Outcome {
	w.Helper()
	o, err := w.c.Ingest(w.Ctx, in)
	w.Must(err)
	return o
}

// everyMinute sends one hour of readings of d1, starting at a time.
func (w *world) everyMinute(from time.Time) {
	w.Helper()
	in := make([]telemetry.Incoming, 60)
	for i := range in {
		in[i] = reading("d1", from.Add(time.Duration(i)*time.Minute))
	}
	w.ingest(in...)
}

func reading(device string, at time.Time) telemetry.Incoming {
	one, err := telemetry.Number("1")
	if err != nil {
		panic(err)
	}
	return telemetry.Incoming{DeviceID: device, At: at, Values: telemetry.Values{"temp": one}}
}

func (w *world) aggregates(p telemetry.Period) []telemetry.Aggregate {
	w.Helper()
	all, err := telemetry.AggregatesByTime.Collect(w.Ctx, w.Table, telemetry.AggregatesIn{DeviceID: "d1", Period: p})
	w.Must(err)
	return all
}

func utc(s string) time.Time {
	at, err := time.Parse("2006-01-02T15:04", s)
	if err != nil {
		panic(err)
	}
	return at
}

// A deleted device is unknown at once. An interrupted purge continues, and leaves nothing of the
// device.
func TestPurge(t *testing.T) {
	w := newWorld(t, utc("2026-04-20T14:00"))
	w.device("d2")
	for _, id := range []string{"d1", "d2"} {
		for i := range 300 {
			w.ingest(reading(id, w.Now().Add(-time.Duration(i)*11*time.Minute)))
		}
	}
	w.Drain()
	if _, err := maintenance.PurgeDevice(w.Ctx, w.Table, w.Worker, "d1"); err == nil {
		t.Error("a device that is not deleted was purged")
	}
	w.Must(telemetry.DeleteDevice(w.Ctx, w.Table, "d1"))
	if did, err := maintenance.PurgeDevice(w.Ctx, w.Table, w.Worker, "d1"); err != nil || !did.Waiting {
		t.Errorf("%+v, %v", did, err)
	}
	w.Advance(telemetry.SettingsNotice)
	if o := w.ingest(reading("d1", w.Now())); o[0].Reason != telemetry.UnknownDevice {
		t.Errorf("a reading of it: %+v", o[0])
	}
	did, err := maintenance.PurgeDevice(w.Ctx, w.Table, w.Worker, "d1")
	w.Must(err)
	if did.Items < 300 {
		t.Errorf("%+v", did)
	}
	w.Drain()
	out, err := w.DB.Query(w.Ctx, &dynamodb.QueryInput{
		TableName: new(foldtest.TableName), KeyConditionExpression: new("pk = :pk"),
		ExpressionAttributeValues: table.Item{":pk": &types.AttributeValueMemberS{Value: "DEVICE#d1"}},
	})
	w.Must(err)
	if len(out.Items) != 0 {
		t.Errorf("%d items are left", len(out.Items))
	}
	counts, err := telemetry.CountsOfFleet.Get(w.Ctx, w.Table, telemetry.FleetIn{FleetID: "plant"})
	w.Must(err)
	page, err := telemetry.ListDevices(w.Ctx, w.Table, telemetry.LabelIn{FleetID: "plant", Kind: telemetry.ByFleet, Value: telemetry.Any}, "", 10)
	w.Must(err)
	if counts.ByStatus["active"] != 1 || counts.ByConnectivity["online"] != 1 || len(page.Items) != 1 || !slices.ContainsFunc(page.Items, func(d telemetry.Device) bool { return d.DeviceID == "d2" }) {
		t.Errorf("what is left: %+v, %+v", counts, page.Items)
	}
	if _, err := maintenance.PurgeDevice(w.Ctx, w.Table, w.Worker, "d1"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
}

// Maintenance does everything that waits for a time: retractions, purges and rollups.
func TestRun(t *testing.T) {
	w := newWorld(t, utc("2026-04-20T14:00"))
	w.device("d2")
	w.everyMinute(w.Now().Add(-time.Hour))
	w.Drain()
	_, err := telemetry.Retract(w.Ctx, w.Table, telemetry.Retraction{RetractionKey: telemetry.RetractionKey{DeviceID: "d1"}, From: utc("2026-04-20T13:00"), To: utc("2026-04-20T13:30")})
	w.Must(err)
	w.Must(telemetry.DeleteDevice(w.Ctx, w.Table, "d2"))
	keep := func() maintenance.Done {
		did, err := maintenance.Run(w.Ctx, w.Table, w.Worker)
		w.Must(err)
		return did
	}
	if did := keep(); did.Tasks != 0 || did.Waiting != 2 {
		t.Errorf("%+v", did)
	}
	if all := w.aggregates(telemetry.Hourly); all[0].Readings != 30 {
		t.Errorf("the retraction took no effect: %d readings", all[0].Readings)
	}
	w.Advance(telemetry.SettingsNotice)
	if did := keep(); did.Tasks != 2 || did.Waiting != 0 {
		t.Errorf("%+v", did)
	}
	if _, err := telemetry.DeviceByID.Get(w.Ctx, w.Table, telemetry.DeviceIn{DeviceID: "d2"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("d2: %v", err)
	}
	w.Advance(48 * time.Hour)
	if did := keep(); did.Days != 1 {
		t.Errorf("two days later: %+v", did)
	}
	if days := w.aggregates(telemetry.Daily); len(days) != 1 || days[0].Readings != 30 {
		t.Errorf("%+v", days)
	}
	if did := keep(); did.Tasks+did.Waiting+did.Days != 0 {
		t.Errorf("nothing is left: %+v", did)
	}
}

// A deleted fleet is removed with its devices and profiles, and no other fleet is.
func TestDeleteFleet(t *testing.T) {
	w := newWorld(t, utc("2026-04-20T14:00"))
	_, err := telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: "other"})
	w.Must(err)
	_, err = telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: "o1", FleetID: "other"})
	w.Must(err)
	for i := range 20 {
		w.device(fmt.Sprint("p", i))
	}
	w.everyMinute(w.Now().Add(-time.Hour))
	w.Must(telemetry.Rules.Put(w.Ctx, w.Table, &telemetry.Rule{RuleKey: telemetry.RuleKey{Scope: telemetry.ForProfile, ScopeID: "meter", RuleID: "hot"}, FleetID: "plant"}))
	w.Must(telemetry.DeleteFleet(w.Ctx, w.Table, "plant"))
	if _, err := telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: "late", FleetID: "plant"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("a device of it: %v", err)
	}
	for range 4 {
		w.Advance(telemetry.SettingsNotice)
		_, err := maintenance.Run(w.Ctx, w.Table, w.Worker)
		w.Must(err)
	}
	out, err := w.DB.Scan(w.Ctx, &dynamodb.ScanInput{TableName: new(foldtest.TableName)})
	w.Must(err)
	for _, it := range out.Items {
		pk, ok := it[table.AttrPK].(*types.AttributeValueMemberS)
		if !ok || slices.Contains([]string{"FLEET#other", "DEVICE#o1"}, pk.Value) || strings.HasPrefix(pk.Value, "FOLD#") || table.IsRemoved(it) {
			continue
		}
		if strings.HasPrefix(pk.Value, "DEVICE_ROLLUPS#") {
			continue // days that are not over: the rollup removes them
		}
		t.Errorf("%v is left", it)
	}
}
