package memory

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A server's heap grows to five times its live part before garbage is collected, and Go's scavenger
// keeps about as much for later. After an import, that is several hundred megabytes for hours,
// although the server has nothing to do. So the heap's free memory is returned to the system once
// the process is idle. On a busy process that would be wasted: it needs the memory again.
const (
	idleEvery = 30 * time.Second
	// idleBytes is the maximum allocated in idleEvery by an idle process. Timers, metrics and some
	// requests take less than 2 MB.
	idleBytes = 16 << 20
	// spareBytes is the least amount allocated since the last return that is worth another one,
	// which costs a garbage collection.
	spareBytes = 64 << 20
)

// idleness decides when to return memory.
type idleness struct {
	before   uint64 // total allocated at the last look
	returned uint64 // total allocated at the last return
}

// look reports whether to return memory now. allocated is the total allocated by the process, in
// bytes.
func (i *idleness) look(allocated uint64) bool {
	idle := allocated-i.before <= idleBytes
	i.before = allocated
	if !idle || allocated-i.returned < spareBytes {
		return false
	}
	i.returned = allocated
	return true
}

// allocated returns the total allocated on the heap in bytes, including what was freed.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// returnWhenIdle returns the heap's free memory to the system whenever the process is idle, until
// stop is called.
func returnWhenIdle() (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(idleEvery)
		defer tick.Stop()
		at := idleness{before: allocated()}
		for {
			select {
			case <-tick.C:
				if at.look(allocated()) {
					debug.FreeOSMemory()
				}
			case <-over:
				return
			}
		}
	}()
	return func() { close(over); <-done }
}
