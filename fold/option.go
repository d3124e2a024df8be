package fold

import (
	"fmt"
	"time"
)

// An Option changes how one fold is run. See Fold.With.
type Option struct {
	set func(*options)
}

// options are erased: the functions are checked against the fold's own types when a worker opens it.
type options struct {
	removable any // func(*S) bool
	finish    any // func(*S)
	partial   any // func(K, int) K
	partials  int
	cache     int
	hold      time.Duration
	expectNew float64    // share of items, from which on; 0: never
	log       *erasedLog // nil: each state is an item
}

// With returns the fold with options.
func (f *Fold) With(opts ...Option) *Fold {
	c := *f
	for _, o := range opts {
		o.set(&c.options)
	}
	if c.options.log != nil {
		c.into = c.options.log.entity
	}
	return &c
}

// Removable declares when a merged state is nothing any more. Its item is then removed: a tombstone stays for 48 hours,
// with the marks, so that redelivered changes do not bring it back. Its state is gone; what comes later starts from zero.
func Removable[S any](f func(*S) bool) Option {
	return Option{func(o *options) { o.removable = f }}
}

// Finish normalises a merged state before it is written, for instance keeps the top values and an exact rest.
func Finish[S any](f func(*S)) Option {
	return Option{func(o *options) { o.finish = f }}
}

// Partials spreads each derived item over n items, so that workers on different shards need not write the same one.
// part puts the partial's number, 0 to n-1, into a key. Readers merge the partials.
func Partials[K any](n int, part func(key K, number int) K) Option {
	return Option{func(o *options) { o.partials, o.partial = n, part }}
}

// CacheSize is how many states a worker keeps in memory between flushes. Default 4096; negative keeps none.
func CacheSize(n int) Option {
	return Option{func(o *options) { o.cache = n }}
}

// Hold lets the fold's items wait for more changes, so that several flushes become one write: an item is written when so
// much time has passed since the first flush that left it waiting. Checkpoints stay behind what waits, so after a crash
// it is read again, and Options.FlushChanges and FlushBytes bound how much waits. Drain and WaitFor do not let anything wait. From 0, the
// default, to half an hour: NewWorker refuses other times.
func Hold(d time.Duration) Option {
	return Option{func(o *options) { o.hold = d }}
}

// ExpectNew puts an item that is not in memory without loading it first, on condition that there is none, and loads it only when that is
// refused: for folds whose keys are mostly new, such as those of visits. It does so as long as at least this share, from 0 to 1, of the items that were
// not in memory turn out to be new; a refused put costs more than a load. The items, as their tombstones do, must outlive the changes that they
// have counted by 48 hours: see the package's comment.
func ExpectNew(share float64) Option {
	return Option{func(o *options) { o.expectNew = max(share, 1e-9) }}
}

const defaultCache = 4096

// optionFunc gives an erased function its type back.
func optionFunc[F any](fold, option string, erased any) (F, error) {
	var zero F
	if erased == nil {
		return zero, nil
	}
	f, ok := erased.(F)
	if !ok {
		return zero, fmt.Errorf("%w: fold %s: %s is a %T, want %T", ErrDefinition, fold, option, erased, zero)
	}
	return f, nil
}
