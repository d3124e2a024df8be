package gaprepair_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/internal/gaprepair"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/telemetry"
)

// counted is a worker that counts the waits for it. A wait takes time, as on DynamoDB.
type counted struct {
	w     *fold.Worker
	waits int
}

func (c *counted) Drain(ctx context.Context) error {
	c.waits++
	time.Sleep(20 * time.Millisecond)
	return c.w.Drain(ctx)
}

// TestManyDevices repairs a fleet in which every device missed something. The cost of a wait, which
// is seconds on DynamoDB, must not be paid for each device. ONEFOLD_MEND_DEVICES sets the number of
// devices, to measure.
func TestManyDevices(t *testing.T) {
	n := 600
	if testing.Short() {
		n = 60
	}
	if many, err := strconv.Atoi(os.Getenv("ONEFOLD_MEND_DEVICES")); err == nil {
		n = many
	}
	l := newLife(t, 1)
	l.Drain()
	var in []telemetry.Incoming
	for i := range n {
		id := fmt.Sprint("many", i)
		must(telemetry.CreateDevice(l.Ctx, l.Table, telemetry.NewDevice{ID: id, FleetID: "north"}))
		for k := range 3 {
			seq := int64(k)
			in = append(in, telemetry.Incoming{DeviceID: id, At: l.Now().Add(-time.Duration(k) * 20 * time.Hour), Seq: &seq, Imported: true,
				Values: telemetry.Values{"temp": must(telemetry.Number(fmt.Sprint(k)))}})
		}
	}
	for len(in) > 0 {
		part := in[:min(len(in), 900)]
		in = in[len(part):]
		must(l.sends.Ingest(l.Ctx, part))
	}
	l.miss()
	w := &counted{w: l.Worker}
	m := gaprepair.Repairer{Table: l.Table, Folded: w, Logger: slog.New(slog.DiscardHandler)}
	began := time.Now()
	l.Must(m.Run(l.Ctx))
	t.Logf("%d devices in %v, waited %d times; %s", n, time.Since(began), w.waits, must(fold.Read(l.Ctx, l.Table, "analytics")).Gaps[0].Report)
	if most := 40 + n/4; w.waits > most {
		t.Errorf("waited %d times for %d devices, want %d at most", w.waits, n, most)
	}
	for _, id := range []string{"many0", "many" + strconv.Itoa(n/2), "many" + strconv.Itoa(n-1)} {
		if found := must(telemetry.Verify(l.Ctx, l.Table, l.Worker, id, l.Now().Add(-5*24*time.Hour), l.Now())); found.Count != 0 || found.Items != 3 {
			t.Errorf("%s: %+v", id, found)
		}
	}
	if c := must(telemetry.CountsOfFleet.Get(l.Ctx, l.Table, telemetry.FleetIn{FleetID: "north"})); c.ByStatus["provisioned"]+c.ByStatus["active"] < int64(n) {
		t.Errorf("counts are %+v", c)
	}
}
