// Package delays are the settings by which what is derived waits to be written, of every binary that folds: the longer, the fewer writes.
package delays

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/fold"
)

// Flags say how long what is derived may wait.
type Flags struct {
	FoldDelay  time.Duration  `help:"Maximum delay before derived items are written, at most 5m. A longer delay needs fewer writes, for stores that bill them, but reports lag by as much." default:"0" env:"ONEFOLD_FOLD_DELAY"`
	VisitDelay *time.Duration `help:"Additional maximum delay of visits that wait for their next event, at most 20m. With 2m most visits are written once. Visit figures lag by as much, their breakdowns by twice that (default: four times --fold-delay)." placeholder:"DURATION" env:"ONEFOLD_VISIT_DELAY"`
}

const (
	maxFold  = 5 * time.Minute  // it is kept in memory, and folded again after a crash
	maxVisit = 20 * time.Minute // fold.Hold takes no more than half an hour
	perFold  = 4                // fold delays that visits wait if nothing else is said
)

// waitingChanges bounds what waits. A batch that is full is written whole, and so is a visit in parts: these are the changes that a thousand
// events a second make in three minutes. fold.Options.FlushBytes bounds the memory that they take.
const waitingChanges = 250_000

// Check refuses what is out of range. Errors: bad_delay.
func (f *Flags) Check() error {
	if f.FoldDelay < 0 || f.FoldDelay > maxFold {
		return fmt.Errorf("bad_delay: --fold-delay is %s, must be 0 to %s", f.FoldDelay, maxFold)
	}
	if v := f.Visits(); v < 0 || v > maxVisit {
		return fmt.Errorf("bad_delay: --visit-delay is %s, must be 0 to %s", v, maxVisit)
	}
	return nil
}

// Visits is how long visitors' days and breakdowns wait beyond a flush.
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
