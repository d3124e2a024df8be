// Command zip packs a program for AWS Lambda, as an executable file named bootstrap. The output is
// reproducible.
package main

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: zip PROGRAM FILE.zip")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(program, to string) error {
	b, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	if err := errors.Join(pack(f, b), f.Close()); err != nil {
		return err
	}
	info, err := os.Stat(to)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s: %.1f MB, unpacked %.1f MB\n", to, float64(info.Size())/1e6, float64(len(b))/1e6)
	return err
}

// pack writes the archive. Its timestamps are the earliest possible one, because the time of the
// build would make every archive different.
func pack(to io.Writer, program []byte) error {
	w := zip.NewWriter(to)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	h := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
	h.SetMode(0o755)
	entry, err := w.CreateHeader(h)
	if err != nil {
		return err
	}
	if _, err := entry.Write(program); err != nil {
		return err
	}
	return w.Close()
}
