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
	FoldDelay  time.Duration  `help:"Maximum delay before derived items are written, at most 5m. A longer delay needs fewer writes, for stores that bill them, but reports lag by as much." default:"0" env:"ONEFOLD_FOLD_DELAY"`
	VisitDelay *time.Duration `help:"Additional maximum delay of visits that wait for their next event, at most 20m. With 2m most visits are written once. Visit figures lag by as much, their breakdowns by twice that (default: four times --fold-delay)." placeholder:"DURATION" env:"ONEFOLD_VISIT_DELAY"`
}

const (
	maxFold  = 5 * time.Minute  // delayed changes are in memory, and folded again after a crash
	maxVisit = 20 * time.Minute // fold.Hold takes at most half an hour
	perFold  = 4                // default delay of visits, in fold delays
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
	if v := f.Visits(); v < 0 || v > maxVisit {
		return fmt.Errorf("bad_delay: --visit-delay is %s, must be 0 to %s", v, maxVisit)
	}
	return nil
}

// Visits returns how long visitors' days and breakdowns are held after a flush is due.
func (f *Flags) Visits() time.Duration {
	if f.VisitDelay == nil {
		return perFold * f.FoldDelay
	}
	return *f.VisitDelay
}

// Apply sets a worker's options.
func (f *Flags) Apply(o *fold.Options) {
	o.FlushAge = f.FoldDelay
	if f.Visits() > 0 {
		o.FlushChanges = waitingChanges
	}
}
