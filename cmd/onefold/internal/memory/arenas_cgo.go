//go:build cgo && linux

package memory

// #include <malloc.h>
//
// static void onefold_arenas(int n) {
// #ifdef __GLIBC__
// 	mallopt(M_ARENA_MAX, n);
// #endif
// }
import "C"

import "os"

// mostArenas is how many arenas the C library has. By default it has eight for each processor, of up to 64 MB, and each keeps what
// threads have freed in it: with blocks of tables that come and go, a server held three times the memory of its cache.
const mostArenas = 2

// fewArenas keeps the C library's memory together, unless MALLOC_ARENA_MAX says how.
func fewArenas() {
	if os.Getenv("MALLOC_ARENA_MAX") == "" {
		C.onefold_arenas(mostArenas)
	}
}
