package analyticsbench

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// probes are events that are followed one by one until they are seen.
const probes = 100

// untilSeen measures the time from sending an event until statistics show it, under load of so many events a second on
// another site.
func (b *bench) untilSeen(ctx context.Context, p *process, senders []sender, rate float64) ([]Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	loaded := make(chan error, 1)
	go func() {
		every := time.Duration(float64(len(senders)) / rate * float64(time.Second))
		_, err := turn(ctx, senders, time.Now().Add(time.Hour), every)
		if ctx.Err() != nil {
			err = nil // it was told to end
		} else {
			cancel()
		}
		loaded <- err
	}()
	var took []float64
	var failed error
	for n := 1; n <= probes && ctx.Err() == nil && failed == nil; n++ {
		began := time.Now()
		failed = p.probe(ctx, n)
		took = append(took, float64(time.Since(began).Milliseconds()))
	}
	cancel()
	if err := <-loaded; err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return []Result{
		{Name: fmt.Sprintf("sent until seen at %.0f events/s, median", rate), Unit: "ms", Value: median(took)},
		{Name: fmt.Sprintf("sent until seen at %.0f events/s, p99", rate), Unit: "ms", Value: percentile(took, 99), Goal: 1000, Most: true},
	}, nil
}

// probe sends the n-th event of the site of probes, and waits until it is seen.
func (p *process) probe(ctx context.Context, n int) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.address+"/api/event", strings.NewReader(`{"site":"probe","url":"/probe"}`))
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
		return fmt.Errorf("a probe was answered %s", answer.Status)
	}
	for ctx.Err() == nil {
		seen, err := pageViews(http.DefaultClient, p.address, probeSite)
		if err != nil || seen >= n {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return ctx.Err()
}
