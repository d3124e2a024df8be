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
	// mostArenas is how many arenas the C library has. By default it has eight for each processor, of up to 64 MB, and each keeps what
	// threads have freed in it: with blocks of tables that come and go, a server held three times the memory of its cache.
	mostArenas = 2
	// large is from how many bytes on memory is the system's again as soon as it is freed. By default the C library raises that to
	// 32 MB when such memory is freed for the first time, and keeps memory tables in its arenas from then on.
	large = 256 << 10
	// trimEvery is how often pages are given back that nothing is in between what is: blocks of many sizes come and go, so half of
	// the arenas would be such pages.
	trimEvery = 15 * time.Second
)

// keepTogether keeps the C library's memory together until undo is called, unless MALLOC_ARENA_MAX says how.
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
