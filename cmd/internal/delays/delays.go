// Package delays has the settings for the delay of derived items, for every binary that folds. The
// longer the delay, the fewer writes.
package delays

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/fold"
)

// Flags set the maximum delays.
type Flags struct {
	FoldDelay   time.Duration  `help:"Maximum delay before derived items are written, at most 5m. A longer delay needs fewer writes, for stores that bill them, but reports lag by as much." default:"0" env:"ONEFOLD_FOLD_DELAY"`
	DeviceDelay time.Duration  `help:"Additional maximum delay of device aggregates and statuses, at most 20m, for stores that bill writes. With --fold-delay 5m --device-delay 20m each is written two to three times an hour. Charts and boards lag by as much; alerts and the latest values of a device do not." default:"0" env:"ONEFOLD_DEVICE_DELAY"`
	VisitDelay  *time.Duration `help:"Additional maximum delay of visits that wait for their next event, at most 20m. With 2m most visits are written once. Visit figures lag by as much, their breakdowns by twice that (default: four times --fold-delay)." placeholder:"DURATION" env:"ONEFOLD_VISIT_DELAY"`
}

const (
	maxFold = 5 * time.Minute  // delayed changes are in memory, and folded again after a crash
	maxHold = 20 * time.Minute // fold.Hold takes at most half an hour
	perFold = 4                // default delay of visits, in fold delays
)

// waitingChanges bounds the delayed changes. A full batch is written completely, which would write
// a visit in parts, so the bound is high: a thousand events per second make as many changes in
// three minutes. fold.Options.FlushBytes bounds their memory.
const waitingChanges = 250_000

// Check checks the ranges of the flags. Errors: bad_delay.
func (f *Flags) Check() error {
	if f.FoldDelay < 0 || f.FoldDelay > maxFold {
		return fmt.Errorf("bad_delay: --fold-delay is %s, must be 0 to %s", f.FoldDelay, maxFold)
	}
	if v := f.Holds().Visits; v < 0 || v > maxHold {
		return fmt.Errorf("bad_delay: --visit-delay is %s, must be 0 to %s", v, maxHold)
	}
	if f.DeviceDelay < 0 || f.DeviceDelay > maxHold {
		return fmt.Errorf("bad_delay: --device-delay is %s, must be 0 to %s", f.DeviceDelay, maxHold)
	}
	return nil
}

// Holds says how long derived items are held after a flush is due. See fold.Hold.
type Holds struct {
	Visits  time.Duration // visitors' days and breakdowns
	Devices time.Duration // aggregates and statuses of devices
}

// Longest returns the longest hold.
func (h Holds) Longest() time.Duration { return max(h.Visits, h.Devices) }

// Holds returns the holds.
func (f *Flags) Holds() Holds {
	h := Holds{Visits: perFold * f.FoldDelay, Devices: f.DeviceDelay}
	if f.VisitDelay != nil {
		h.Visits = *f.VisitDelay
	}
	return h
}

// Apply sets a worker's options.
func (f *Flags) Apply(o *fold.Options) {
	o.FlushAge = f.FoldDelay
	if f.Holds().Longest() > 0 {
		o.FlushChanges = waitingChanges
	}
}
