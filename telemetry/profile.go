package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/metric"
)

// PutProfile creates or replaces a profile; its fleet is fixed. New readings follow it within ten
// seconds; stored ones stay. Errors: ErrInvalid; table.ErrExists if another fleet has the ID.
func PutProfile(ctx context.Context, t *table.Table, p Profile) (Profile, error) {
	err := p.check()
	if err == nil {
		if p.CreatedAt.IsZero() {
			p.CreatedAt = nowOf(t)
		}
		err = Profiles.Put(ctx, t, &p, table.Or(table.Absent(), profileFleet.Eq(p.FleetID)))
	}
	if err != nil {
		return p, fmt.Errorf("telemetry: profile %q: %w", shorten(p.ProfileID), profileTaken(err))
	}
	return p, nil
}

var profileFleet = table.FieldOf(Profiles, func(p *Profile) *string { return &p.FleetID })

func (p *Profile) check() error {
	if err := checkID("profile", p.ProfileID); err != nil {
		return err
	}
	if err := checkID("fleet", p.FleetID); err != nil {
		return err
	}
	if len(p.Name) > maxName || p.Every < 0 || p.Every > 31*24*3600 || len(p.Metrics) > maxMetrics {
		return fmt.Errorf("%w: use a name of at most %d bytes, an interval of 1 second to 31 days and at most %d metrics", ErrInvalid, maxName, maxMetrics)
	}
	seen := map[string]bool{}
	for _, m := range p.Metrics {
		if err := m.check(); err != nil {
			return err
		}
		if seen[m.Name] {
			return fmt.Errorf("%w: metric %q is listed twice", ErrInvalid, m.Name)
		}
		seen[m.Name] = true
	}
	return p.Clock.check()
}

func (m *MetricDef) check() error {
	if !metric.Valid(m.Name) {
		return fmt.Errorf("%w: metric %q: use 1 to %d bytes of letters, digits and . _ - / : and spaces (not at either end)", ErrInvalid, shorten(m.Name), metric.MaxBytes)
	}
	if m.Kind != Gauge && m.Kind != Counter && m.Kind != State {
		return fmt.Errorf("%w: metric %q has kind %q: use gauge, counter or state", ErrInvalid, m.Name, m.Kind)
	}
	for _, bound := range []string{m.Min, m.Max} {
		if _, err := decimalsum.Parse(bound); bound != "" && err != nil {
			return fmt.Errorf("%w: metric %q: %w", ErrInvalid, m.Name, err)
		}
	}
	return checkLabel("unit", m.Unit)
}

func (c *ClockPolicy) check() error {
	switch c.Late {
	case "", LateAccept, LateCorrect, LateReject:
	default:
		return fmt.Errorf("%w: late readings: %q: use accept, correct or reject", ErrInvalid, c.Late)
	}
	if c.LateAfter < 0 || c.FutureWithin < 0 || c.FutureWithin > maxFutureSeconds {
		return fmt.Errorf("%w: clock limits: use 0 or more seconds, and at most %d seconds ahead", ErrInvalid, maxFutureSeconds)
	}
	return nil
}

const (
	defaultLateAfter = time.Hour
	defaultFuture    = 10 * time.Minute
	maxFutureSeconds = 24 * 3600
)

// late returns the delay from which a reading is late.
func (c *ClockPolicy) late() time.Duration {
	return cmp.Or(time.Duration(c.LateAfter)*time.Second, defaultLateAfter)
}

// past returns the age from which an arriving reading does not prove that its device is online.
func (c *ClockPolicy) past() time.Duration {
	return max(c.late(), defaultLateAfter)
}

// future returns how far a device's clock may be ahead.
func (c *ClockPolicy) future() time.Duration {
	return cmp.Or(time.Duration(c.FutureWithin)*time.Second, defaultFuture)
}

// profileTaken explains a failed condition of PutProfile.
func profileTaken(err error) error {
	if errors.Is(err, table.ErrCondition) {
		return fmt.Errorf("%w: another fleet has this profile ID", table.ErrExists)
	}
	return err
}
