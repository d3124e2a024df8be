//go:build linux || darwin

package querycli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// width is how wide the terminal is that is written to; 0: it is none, and nothing is cut.
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
