package telemetrybench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/telemetry"
)

const (
	rangeDevices    = 20
	minutesOfADay   = 24 * 60
	minutesInBlocks = 6 // roughly as many blocks as a server leaves before it moves them to segments, since each device sends at its own time
	boardDevices    = 10_000
	asked           = 300 // repetitions of each question

	wantedRangeMS = 1
	wantedBoardMS = 100
)

// incoming returns a generated reading of a device.
func incoming(random *rand.Rand, device int, at time.Time) (telemetry.Incoming, error) {
	in := telemetry.Incoming{DeviceID: deviceID(device), At: at, Values: telemetry.Values{}}
	for _, m := range []struct {
		name       string
		from, upTo int // hundredths
	}{{"temperature", 1500, 2500}, {"humidity", 4000, 6000}, {"battery", 360, 370}} {
		v, err := telemetry.Number(strconv.FormatFloat(float64(m.from+random.IntN(m.upTo-m.from))/100, 'f', 2, 64))
		if err != nil {
			return in, err
		}
		in.Values[m.name] = v
	}
	return in, nil
}

// ingest stores readings. A reading that is not stored is an error.
func ingest(ctx context.Context, c *telemetry.Collector, readings []telemetry.Incoming) error {
	outcomes, err := c.Ingest(ctx, readings)
	if err != nil {
		return err
	}
	for i := range outcomes {
		if outcomes[i].Status != telemetry.Stored {
			return errors.New("a reading was not stored: " + outcomes[i].Detail)
		}
	}
	return nil
}

// fillRanges stores a day of each device in the form that a long-running server has: in segments,
// except for the last minutes.
func fillRanges(ctx context.Context, s *workbench.Store, end time.Time) error {
	c, random := telemetry.NewCollector(s.Table, telemetry.CollectorOptions{}), rand.New(rand.NewPCG(1, 7))
	day := func(device, from, to int) (all []telemetry.Incoming, err error) {
		for i := from; i < to && err == nil; i++ {
			var one telemetry.Incoming
			one, err = incoming(random, device, end.Add(time.Duration(i-minutesOfADay)*time.Minute))
			one.Imported = true
			all = append(all, one)
		}
		return all, err
	}
	for device := range rangeDevices {
		all, err := day(device, 0, minutesOfADay-minutesInBlocks)
		if err = errors.Join(err, ingest(ctx, c, all)); err != nil {
			return err
		}
	}
	if _, err := telemetry.MoveReadings(ctx, s.Table); err != nil {
		return err
	}
	for minute := minutesOfADay - minutesInBlocks; minute < minutesOfADay; minute++ {
		for device := range rangeDevices {
			one, err := day(device, minute, minute+1)
			if err = errors.Join(err, ingest(ctx, c, one)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ranges measures queries for a day of a device that sends every minute.
func (b *bench) ranges(ctx context.Context, dir string) ([]workbench.Result, error) {
	end := time.Now().UTC().Truncate(time.Minute)
	err := b.prepared(ctx, dir, rangeDevices, func(ctx context.Context, s *workbench.Store) error { return fillRanges(ctx, s, end) })
	if err != nil {
		return nil, err
	}
	span := "&from=" + end.Add(-24*time.Hour).Format(time.RFC3339) + "&to=" + end.Format(time.RFC3339)
	return b.ask(ctx, dir, wantedRangeMS, []question{
		{fmt.Sprintf("a day of a device, %d readings of a metric", minutesOfADay), "/series?metric=temperature&resolution=raw&maxPoints=2000" + span, rangeDevices},
		{"a day of a device as a curve of 500 points", "/series?metric=temperature&resolution=raw" + span, rangeDevices},
		{"a day of a device by the hour, all metrics", "/aggregates?period=hourly" + span, rangeDevices},
	})
}

// board measures the queries of a fleet's dashboard.
func (b *bench) board(ctx context.Context, dir string) ([]workbench.Result, error) {
	err := b.prepared(ctx, dir, boardDevices, func(ctx context.Context, s *workbench.Store) error {
		c, random := telemetry.NewCollector(s.Table, telemetry.CollectorOptions{}), rand.New(rand.NewPCG(1, 7))
		all := make([]telemetry.Incoming, boardDevices)
		for i := range all {
			var err error
			if all[i], err = incoming(random, i, time.Now()); err != nil {
				return err
			}
		}
		return ingest(ctx, c, all)
	})
	if err != nil {
		return nil, err
	}
	return b.ask(ctx, dir, wantedBoardMS, []question{
		{fmt.Sprintf("board of a fleet of %d devices", boardDevices), "/board", 0},
		{fmt.Sprintf("a page of 100 of %d devices", boardDevices), "/devices?limit=100", 0},
	})
}

// question is a path below a fleet, or below one of its devices if any are given.
type question struct {
	name, path string
	devices    int
}

// ask sends each question many times in sequence.
func (b *bench) ask(ctx context.Context, dir string, goal float64, questions []question) ([]workbench.Result, error) {
	return b.served(ctx, dir, func(p *workbench.Process) (results []workbench.Result, err error) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		random := rand.New(rand.NewPCG(2, 7))
		for _, q := range questions {
			took := make([]float64, 0, asked)
			before, err := p.CPUSeconds()
			for len(took) < asked && err == nil {
				path := fleetPath
				if q.devices > 0 {
					path = devicePath(random.IntN(q.devices))
				}
				began := time.Now()
				err = errors.Join(ctx.Err(), workbench.Get(client, p.Address, path+q.path, nil))
				took = append(took, float64(time.Since(began).Microseconds())/1000)
			}
			after, cpu := p.CPUSeconds()
			if err = errors.Join(err, cpu); err != nil {
				return nil, err
			}
			results = append(results,
				workbench.Result{Name: q.name + ", median", Unit: "ms", Value: workbench.Median(took)},
				workbench.Result{Name: q.name + ", p99", Unit: "ms", Value: workbench.Percentile(took, 99), Goal: goal, Most: true},
				workbench.Result{Name: q.name + ", CPU time of the server", Unit: "ms", Value: (after - before) * 1000 / asked})
		}
		return results, nil
	})
}
