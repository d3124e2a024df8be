//go:build linux || darwin

package querycli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// width returns the width of the terminal behind w, or 0 if w is not a terminal, so that nothing is
// truncated.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
