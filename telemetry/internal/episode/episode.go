// Package episode is the state machine of alerts, for decimal measurements.
package episode

import (
	"github.com/onefold/onefold/internal/episode"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

// The state machine with the values of readings and aggregates.
type (
	Key     = episode.Key
	Phase   = episode.Phase
	Point   = episode.Point[decimalsum.Decimal]
	Levels  = episode.Levels[decimalsum.Decimal]
	Episode = episode.Episode[decimalsum.Decimal]
	Machine = episode.Machine[decimalsum.Decimal]
)

// The phases.
const (
	Idle    = episode.Idle
	Pending = episode.Pending
	Firing  = episode.Firing
)
