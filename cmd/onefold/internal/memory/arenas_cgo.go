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
import "C"

import "os"

const (
	// mostArenas is how many arenas the C library has. By default it has eight for each processor, of up to 64 MB, and each keeps what
	// threads have freed in it: with blocks of tables that come and go, a server held three times the memory of its cache.
	mostArenas = 2
	// large is from how many bytes on memory is the system's again as soon as it is freed. By default the C library raises that to
	// 32 MB when such memory is freed for the first time, and keeps memory tables in its arenas from then on.
	large = 256 << 10
)

// fewArenas keeps the C library's memory together, unless MALLOC_ARENA_MAX says how.
func fewArenas() {
	if os.Getenv("MALLOC_ARENA_MAX") == "" {
		C.onefold_arenas(mostArenas, large)
	}
}
