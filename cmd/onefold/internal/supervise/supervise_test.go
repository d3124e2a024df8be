package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/cmd/onefold/internal/supervise"
)

// TestFailedPartsAreBegunAgain lets a part fail, run for long, fail again, and end.
func TestFailedPartsAreBegunAgain(t *testing.T) {
	now := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)
	var pauses []time.Duration
	p := &supervise.Parts{Clock: func() time.Time { return now }}
	p.Sleep = func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		if f := p.Failing(); len(f) != 1 || f[0].Name != "meter" || !f[0].Since.Equal(now) {
			t.Errorf("failing while it waits: %+v", f)
		}
		if up := told(t, p, "onefold_part_up"); up["meter"] != 0 || up["other"] != 1 {
			t.Errorf("up while it waits: %v", up)
		}
		return nil
	}
	runs := 0
	meter := p.Keep("meter", func(context.Context) error {
		if runs++; runs == 9 {
			now = now.Add(time.Hour)
		}
		if runs == 11 {
			return nil
		}
		return errors.New("no file")
	})
	p.Keep("other", func(context.Context) error { return nil })
	if err := meter(context.Background()); err != nil {
		t.Error(err)
	}
	s := time.Second
	if want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s, s, 2 * s}; !slices.Equal(pauses, want) {
		t.Errorf("it paused %v, want %v", pauses, want)
	}
	if n := told(t, p, "onefold_part_failures_total"); n["meter"] != 10 || n["other"] != 0 {
		t.Errorf("failures: %v", n)
	}
	if f := p.Failing(); len(f) != 0 {
		t.Errorf("failing when it has ended: %+v", f)
	}
}

// told returns the values of a metric by part.
func told(t *testing.T, p *supervise.Parts, name string) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(p)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				values[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return values
}

// TestStoppedPartsDoNotFail cancels a part while it runs, and while it waits.
func TestStoppedPartsDoNotFail(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	p := &supervise.Parts{}
	run := p.Keep("part", func(ctx context.Context) error { stop(); return ctx.Err() })
	if err := run(ctx); err != nil || len(p.Failing()) != 0 {
		t.Errorf("%v, failing %v", err, p.Failing())
	}
	p.Sleep = func(context.Context, time.Duration) error { return context.Canceled }
	if err := p.Keep("part", func(context.Context) error { return errors.New("failed") })(context.Background()); err != nil {
		t.Error(err)
	}
}

// rare is an error of a part with expensive attempts.
type rare struct{ error }

func (rare) Pause() time.Duration { return time.Hour }

// TestPartsChooseTheirPause lets a part fail with an error that sets the delay.
func TestPartsChooseTheirPause(t *testing.T) {
	var pauses []time.Duration
	p := &supervise.Parts{Sleep: func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil }}
	runs := 0
	err := p.Keep("part", func(context.Context) error {
		switch runs++; runs {
		case 1, 3:
			return errors.New("failed")
		case 2:
			return fmt.Errorf("wrapped: %w", rare{errors.New("failed")})
		}
		return nil
	})(context.Background())
	if want := []time.Duration{time.Second, time.Hour, 4 * time.Second}; err != nil || !slices.Equal(pauses, want) {
		t.Errorf("it paused %v, want %v: %v", pauses, want, err)
	}
}
