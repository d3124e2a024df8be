// Package wholebackup puts a table's backup and what is kept beside the table into one tar stream, and takes them apart again. The
// files beside come first: how far a log was followed is older than the table then, and what it read since counts once, for
// lines are known again. It belongs to the command line.
package wholebackup

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// What is kept beside a directory DIR: DIR.usage and DIR.usage.1, what its meters said; DIR.follow, a folder of how far logs were
// followed. In a backup they are beside/usage, beside/usage.1 and beside/follow/NAME.
const (
	prefix = "beside/"
	follow = "follow"
)

var single = []string{"usage", "usage.1"}

// Write writes the files beside a directory, and then the table, which table writes as a tar stream of its own.
func Write(ctx context.Context, w io.Writer, dir string, table func(io.Writer) error) error {
	out := tar.NewWriter(w)
	names, err := beside(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := add(out, dir, name); err != nil {
			return err
		}
	}
	err = piped(ctx, table, func(r io.Reader) error {
		in := tar.NewReader(r)
		return each(in, func(h *tar.Header) error { return pass(out, h, in) })
	})
	if err != nil { // also of a file that is not whole
		return err
	}
	return out.Close()
}

// beside lists what there is beside a directory, as it is called in a backup.
func beside(dir string) (names []string, err error) {
	for _, name := range single {
		if _, err := os.Stat(dir + "." + name); err == nil {
			names = append(names, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	files, err := os.ReadDir(dir + "." + follow)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		if f.Type().IsRegular() && !strings.HasPrefix(f.Name(), ".") { // those that are being written begin with a dot
			names = append(names, path.Join(follow, f.Name()))
		}
	}
	return names, nil
}

// fileOf is where what a backup calls name is kept.
func fileOf(dir, name string) string { return dir + "." + filepath.FromSlash(name) }

func add(out *tar.Writer, dir, name string) error {
	b, err := os.ReadFile(fileOf(dir, name))
	if errors.Is(err, fs.ErrNotExist) { // it was replaced, or taken away
		return nil
	}
	if err == nil {
		err = out.WriteHeader(&tar.Header{Name: prefix + name, Mode: 0o600, Size: int64(len(b)), ModTime: time.Now(), Format: tar.FormatPAX})
	}
	if err == nil {
		_, err = out.Write(b)
	}
	return err
}

// piped lets one write what the other reads.
func piped(ctx context.Context, write func(io.Writer) error, read func(io.Reader) error) error {
	r, w := io.Pipe()
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { r.CloseWithError(context.Cause(ctx)) })() // so that neither waits for ever
	group.Go(func() error {
		err := write(w)
		w.CloseWithError(err)
		return err
	})
	group.Go(func() error {
		err := read(r)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		r.CloseWithError(err)
		return err
	})
	return group.Wait()
}

// each reads the entries of an archive.
func each(in *tar.Reader, do func(*tar.Header) error) error {
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(h)
		}
		if err != nil {
			return err
		}
	}
}

func pass(out *tar.Writer, h *tar.Header, from io.Reader) error {
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(out, from)
	return err
}
