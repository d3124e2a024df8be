package telemetrybench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/internal/backoff"
)

const (
	ingestDevices = 100
	batchSenders  = 4
	foldFor       = 2 * time.Minute // limit for folding after the last reading
)

// sender sends the next batch of a connection, and adds the number of readings per device to sent.
// All of them are durable when it returns.
type sender func(sent map[int]int) error

// batch measures batches in JSON.
func (b *bench) batch(ctx context.Context, dir string) ([]workbench.Result, error) {
	return b.post(ctx, dir, "JSON", 120_000, "/api/readings", http.StatusAccepted, (*gauge).array)
}

// lines measures batches in line protocol.
func (b *bench) lines(ctx context.Context, dir string) ([]workbench.Result, error) {
	return b.post(ctx, dir, "line protocol", 150_000, "/api/v2/write?bucket="+fleetID+"&precision=ms", http.StatusNoContent, (*gauge).lines)
}

// post measures batches that gateways send over HTTP.
func (b *bench) post(ctx context.Context, dir, what string, goal float64, path string, want int, body func(*gauge, []byte) []byte) ([]workbench.Result, error) {
	var token string
	err := b.prepared(ctx, dir, ingestDevices, func(ctx context.Context, s *workbench.Store) (err error) {
		token, err = key(ctx, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b.served(ctx, dir, func(p *workbench.Process) ([]workbench.Result, error) {
		senders := make([]sender, batchSenders)
		for i := range senders {
			c, err := workbench.Dial(p.Address)
			if err != nil {
				return nil, err
			}
			defer c.Close()
			head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: text/plain\r\nAuthorization: Bearer %s\r\n", path, token)
			senders[i] = poster(c, head, want, newGauge(uint64(i), share(i, batchSenders)), body)
		}
		pace, err := b.turns(ctx, p, senders)
		return []workbench.Result{
			{Name: fmt.Sprintf("%s, batches of %d, %d connections, durable and folded", what, batchReadings, batchSenders), Unit: "readings/s", Value: pace.Rate, Goal: goal},
			{Name: "CPU time of a reading in " + what, Unit: "µs", Value: pace.Micros, Goal: 10, Most: true},
		}, err
	})
}

// poster returns a sender of a gauge's batches.
func poster(c *workbench.Connection, head string, want int, g *gauge, body func(*gauge, []byte) []byte) sender {
	var request, text []byte
	return func(sent map[int]int) error {
		first := g.sent
		text = body(g, text[:0])
		request = fmt.Appendf(append(request[:0], head...), "Content-Length: %d\r\n\r\n", len(text))
		request = append(request, text...)
		answer, err := c.Ask(request, want)
		if err != nil {
			return err
		}
		if stored := bytes.Count(answer, []byte(`"stored"`)); want == http.StatusAccepted && stored != batchReadings {
			return fmt.Errorf("%d of %d readings were stored: %.300s", stored, batchReadings, answer)
		}
		g.count(first, sent)
		return nil
	}
}

// count adds the readings since first to the counts of their devices.
func (g *gauge) count(first int, sent map[int]int) {
	for n := first; n < g.sent; n++ {
		sent[g.devices[n/ofOneDevice%len(g.devices)]]++
	}
}

// turns alternates sending from all senders and waiting until everything is folded.
func (b *bench) turns(ctx context.Context, p *workbench.Process, senders []sender) (workbench.Pace, error) {
	sent := make([]map[int]int, len(senders))
	for i := range sent {
		sent[i] = map[int]int{}
	}
	total := 0
	return p.Turns(b.o.Rounds, func() (int, error) {
		until := time.Now().Add(b.o.Turn)
		group, sending := errgroup.WithContext(ctx)
		for i, send := range senders {
			group.Go(func() error {
				for time.Now().Before(until) && sending.Err() == nil {
					if err := send(sent[i]); err != nil {
						return err
					}
				}
				return sending.Err()
			})
		}
		if err := group.Wait(); err != nil {
			return 0, err
		}
		before := total
		total = 0
		for _, of := range sent {
			for device, n := range of {
				total += n
				if err := folded(ctx, p, device, n); err != nil {
					return 0, err
				}
			}
		}
		return total - before, nil
	})
}

// folded waits until the hourly aggregates of a device count so many readings.
func folded(ctx context.Context, p *workbench.Process, device, want int) error {
	const between = 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, foldFor)
	defer cancel()
	for {
		var answer struct{ Aggregates []struct{ Readings int } }
		to := time.Now().UTC().Add(2 * time.Hour).Format(time.RFC3339)
		err := workbench.Get(http.DefaultClient, p.Address, devicePath(device)+"/aggregates?period=hourly&to="+to, &answer)
		got := 0
		for _, a := range answer.Aggregates {
			got += a.Readings
		}
		if err != nil || got == want {
			return err
		}
		if got > want {
			return fmt.Errorf("%d readings of %s were sent and %d counted", want, deviceID(device), got)
		}
		if err := backoff.For(ctx, between); err != nil {
			return fmt.Errorf("%d of %d readings of %s were folded: %w", got, want, deviceID(device), err)
		}
	}
}

const fleetPath = "/api/v1/fleets/" + fleetID

func devicePath(i int) string { return fleetPath + "/devices/" + deviceID(i) }
