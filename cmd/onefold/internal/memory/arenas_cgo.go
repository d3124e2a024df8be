//go:build cgo && linux

package memory

// #include <malloc.h>
//
// static void onefold_arenas(int n, int large) {
// #ifdef __GLIBC__
// 	mallopt(M_ARENA_MAX, n);
// 	mallopt(M_MMAP_THRESHOLD, large);
// 	mallopt(M_TRIM_THRESHOLD, large);
// #endif
// }
//
// static void onefold_trim(void) {
// #ifdef __GLIBC__
// 	malloc_trim(0);
// #endif
// }
import "C"

import (
	"os"
	"time"
)

const (
	// mostArenas limits the arenas of the C library. By default there are eight per processor, each
	// up to 64 MB, and each keeps what its threads have freed. Since blocks of tables come and go,
	// a server then held three times the memory of its cache.
	mostArenas = 2
	// large is the size in bytes from which freed memory is returned to the system at once. By
	// default the C library raises this threshold to 32 MB when such memory is first freed, and
	// keeps memtables in its arenas from then on.
	large = 256 << 10
	// trimEvery is the interval at which free pages inside the arenas are returned to the system.
	// Since blocks of many sizes come and go, such pages would otherwise be half of the arenas.
	trimEvery = 15 * time.Second
)

// keepTogether limits the C library's memory until undo is called, unless MALLOC_ARENA_MAX is set.
func keepTogether() (undo func()) {
	if os.Getenv("MALLOC_ARENA_MAX") != "" {
		return func() {}
	}
	C.onefold_arenas(mostArenas, large)
	tick, over := time.NewTicker(trimEvery), make(chan struct{})
	go func() {
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				C.onefold_trim()
			case <-over:
				return
			}
		}
	}()
	return func() { close(over) }
}
