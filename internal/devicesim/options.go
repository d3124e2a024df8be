package devicesim

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrInvalidOptions is returned for options that are out of range.
var ErrInvalidOptions = errors.New("devicesim: invalid options")

// Options configure a simulation. The zero value is three devices for a day.
type Options struct {
	// Seed chooses one of all possible histories. Measurements do not depend on the faults.
	Seed uint64
	// Devices is the number of devices: 3 by default, at most a million. They take the kinds of
	// Kinds in turn.
	Devices int
	// Prefix is the prefix of device IDs; none by default.
	Prefix string
	// Start is the time of the beginning. By default 2026-01-01 UTC, so that it does not depend on
	// the clock.
	Start time.Time
	// Length is the duration of the simulation: a day by default; negative means endless.
	Length time.Duration
	// Every is the time between two readings of a device: a minute by default, a second to a day.
	Every time.Duration
	// Rate is the share of readings with a fault: 0 by default, at most 1.
	Rate float64
	// Faults are the possible faults: all by default.
	Faults []Fault
	// Incident is when the first device that cools something begins to warm up, for two hours; zero
	// means never.
	Incident time.Time
}

// Limits of Options.
const (
	maxDevices = 1_000_000
	leastEvery = time.Second
	mostEvery  = 24 * time.Hour
)

func (o Options) withDefaults() (Options, error) {
	if o.Devices == 0 {
		o.Devices = 3
	}
	if o.Start.IsZero() {
		o.Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	if o.Length == 0 {
		o.Length = 24 * time.Hour
	}
	if o.Every == 0 {
		o.Every = time.Minute
	}
	if len(o.Faults) == 0 {
		o.Faults = Faults
	}
	o.Start = o.Start.UTC().Truncate(time.Second)
	for _, f := range o.Faults {
		if !slices.Contains(Faults, f) {
			return o, fmt.Errorf("%w: unknown fault %q; use any of %v", ErrInvalidOptions, f, Faults)
		}
	}
	switch {
	case o.Devices < 1 || o.Devices > maxDevices:
		return o, fmt.Errorf("%w: %d devices; use 1 to %d", ErrInvalidOptions, o.Devices, maxDevices)
	case o.Every < leastEvery || o.Every > mostEvery:
		return o, fmt.Errorf("%w: a reading every %s; use %s to %s", ErrInvalidOptions, o.Every, leastEvery, mostEvery)
	case !(o.Rate >= 0 && o.Rate <= 1):
		return o, fmt.Errorf("%w: fault rate %g; use 0 to 1", ErrInvalidOptions, o.Rate)
	}
	return o, nil
}
