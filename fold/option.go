package fold

import (
	"fmt"
	"time"
)

// An Option changes how one fold is run. See Fold.With.
type Option struct {
	set func(*options)
}

// options hold functions without their types. They are checked against the types of the fold when a
// worker opens it.
type options struct {
	removable any // func(*S) bool
	finish    any // func(*S)
	partial   any // func(K, int) K
	partials  int
	cache     int
	hold      time.Duration
	expectNew float64    // minimum share of new items; 0 means never
	log       *erasedLog // nil: each state is an item
}

// With returns a copy of the fold with options. The fold itself is unchanged.
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

// Removable declares when a merged state is empty. Its item is then removed: the state is gone and
// later changes start from zero. A tombstone with the marks stays for 48 hours, so that redelivered
// changes do not bring the item back.
func Removable[S any](f func(*S) bool) Option {
	return Option{func(o *options) { o.removable = f }}
}

// Finish normalizes a merged state before it is written, for instance to keep the top values and an
// exact rest.
func Finish[S any](f func(*S)) Option {
	return Option{func(o *options) { o.finish = f }}
}

// Partials spreads each derived item over n items, so that workers on different shards do not
// compete for one. part puts the number of the partial, 0 to n-1, into a key. Readers must merge
// the partials.
func Partials[K any](n int, part func(key K, number int) K) Option {
	return Option{func(o *options) { o.partials, o.partial = n, part }}
}

// CacheSize sets how many states a worker keeps in memory between flushes. The default is 4096; a
// negative number disables the cache.
func CacheSize(n int) Option {
	return Option{func(o *options) { o.cache = n }}
}

// Hold lets items wait for more changes, so that several flushes become one write: an item is
// written at the first flush that comes at least d after the flush that first left it waiting.
// Checkpoints stay before waiting changes, so a crash only means reading them again.
// Options.FlushChanges and FlushBytes limit how much waits. Drain and WaitFor write everything. d
// is from 0, the default, to half an hour; NewWorker rejects other values.
func Hold(d time.Duration) Option {
	return Option{func(o *options) { o.hold = d }}
}

// ExpectNew puts an item that is not in memory without loading it, on condition that it does not
// exist, and loads it only if the put is refused. It suits folds whose keys are mostly new, such as
// those of visits. Because a refused put costs more than a load, it applies only while at least
// this share, from 0 to 1, of the items that were not in memory turn out to be new. The items, like
// their tombstones, must outlive the changes they have counted by 48 hours: see the package
// comment.
func ExpectNew(share float64) Option {
	return Option{func(o *options) { o.expectNew = max(share, 1e-9) }}
}

const defaultCache = 4096

// optionFunc restores the type of a function in options.
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
