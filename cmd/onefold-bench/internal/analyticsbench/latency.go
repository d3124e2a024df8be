package analyticsbench

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

// probes is the number of events whose delay is measured one by one.
const probes = 100

// untilSeen measures the time from sending an event until the statistics show it, while another
// site receives rate events per second.
func (b *bench) untilSeen(ctx context.Context, p *workbench.Process, senders []sender, rate float64) ([]workbench.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	loaded := make(chan error, 1)
	go func() {
		every := time.Duration(float64(len(senders)) / rate * float64(time.Second))
		_, err := turn(ctx, senders, time.Now().Add(time.Hour), every)
		if ctx.Err() != nil {
			err = nil // stopped on purpose
		} else {
			cancel()
		}
		loaded <- err
	}()
	var took []float64
	var failed error
	for n := 1; n <= probes && ctx.Err() == nil && failed == nil; n++ {
		began := time.Now()
		failed = probe(ctx, p, n)
		took = append(took, float64(time.Since(began).Milliseconds()))
	}
	cancel()
	if err := <-loaded; err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return []workbench.Result{
		{Name: fmt.Sprintf("sent until seen at %.0f events/s, median", rate), Unit: "ms", Value: workbench.Median(took)},
		{Name: fmt.Sprintf("sent until seen at %.0f events/s, p99", rate), Unit: "ms", Value: workbench.Percentile(took, 99), Goal: 1000, Most: true},
	}, nil
}

// probe sends the n-th event of the probed site, and waits until the statistics show it.
func probe(ctx context.Context, p *workbench.Process, n int) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.Address+"/api/event", strings.NewReader(`{"site":"probe","url":"/probe"}`))
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", agents[0])
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		return fmt.Errorf("the response to a probe was %s", answer.Status)
	}
	for ctx.Err() == nil {
		seen, err := pageViews(http.DefaultClient, p.Address, probeSite)
		if err != nil || seen >= n {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return ctx.Err()
}
