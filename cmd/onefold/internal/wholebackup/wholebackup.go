// Package wholebackup writes a table's backup and its companion files into one tar stream, and
// restores them. The companion files come first. The position in a followed log is therefore older
// than the table, and lines read in between are counted once, because they are recognized when read
// again.
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

// Companion files of a directory DIR: DIR.usage and DIR.usage.1, the metered usage; DIR.follow, a
// directory of the positions in followed logs. In a backup they are named beside/usage,
// beside/usage.1 and beside/follow/NAME.
const (
	prefix = "beside/"
	follow = "follow"
)

var single = []string{"usage", "usage.1"}

// Write writes the companion files of a directory, then the table. table writes the table's own tar
// stream.
func Write(ctx context.Context, w io.Writer, dir string, table func(io.Writer) error) error {
	out := tar.NewWriter(w)
	names, err := companionFiles(dir)
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
	if err != nil { // so that a file that shrank is an error too
		return err
	}
	return out.Close()
}

// companionFiles lists the companion files of a directory by their names in a backup.
func companionFiles(dir string) (names []string, err error) {
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
		if f.Type().IsRegular() && !strings.HasPrefix(f.Name(), ".") { // a file being written has a name with a leading dot
			names = append(names, path.Join(follow, f.Name()))
		}
	}
	return names, nil
}

// fileOf returns the path of the companion file with this name in a backup.
func fileOf(dir, name string) string { return dir + "." + filepath.FromSlash(name) }

func add(out *tar.Writer, dir, name string) error {
	b, err := os.ReadFile(fileOf(dir, name))
	if errors.Is(err, fs.ErrNotExist) { // replaced or removed meanwhile
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

// piped connects write and read.
func piped(ctx context.Context, write func(io.Writer) error, read func(io.Reader) error) error {
	r, w := io.Pipe()
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { r.CloseWithError(context.Cause(ctx)) })() // so that neither side blocks forever
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

// each calls do for each entry of an archive.
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
