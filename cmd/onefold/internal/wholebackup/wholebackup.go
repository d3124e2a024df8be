// Package wholebackup puts a table's backup and what is kept beside the table into one tar stream, and takes them apart again. The
// files beside come first: how far a log was followed is older than the table then, and what it read since counts once, for
// lines are known again. It belongs to the command line.
package wholebackup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/engine"
)

// What is kept beside a directory DIR: DIR.usage and DIR.usage.1, what its meters said; DIR.follow, a folder of how far logs were
// followed. In a backup they are beside/usage, beside/usage.1 and beside/follow/NAME.
const (
	prefix   = "beside/"
	follow   = "follow"
	maxFile  = 64 << 20
	maxFiles = 10000
)

var single = []string{"usage", "usage.1"}

var (
	// ErrThere is returned when a file that would be restored is there already.
	ErrThere = errors.New("file_exists")
	// ErrForeign is returned for a stream that is no backup of this kind.
	ErrForeign = errors.New("bad_backup")
)

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
	return errors.Join(err, out.Close())
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

// Restore makes a database in dir of a backup, and puts beside it what was beside. A backup of the table alone will do. Nothing is
// written over. What is beside is there when the table is.
func Restore(ctx context.Context, r io.Reader, dir string, progress engine.BackupProgress) (m *engine.BackupManifest, files int, err error) {
	kept := map[string][]byte{}
	err = piped(ctx, func(w io.Writer) error {
		in, out := tar.NewReader(r), tar.NewWriter(w)
		err := each(in, func(h *tar.Header) error {
			name, aside := strings.CutPrefix(h.Name, prefix)
			if !aside {
				return pass(out, h, in)
			}
			return keep(kept, dir, name, h, in)
		})
		if err != nil {
			return err
		}
		return out.Close()
	}, func(r io.Reader) (err error) {
		m, err = engine.RestoreFrom(ctx, r, dir, progress)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	for name, b := range kept {
		if err := put(fileOf(dir, name), b); err != nil {
			return nil, 0, err
		}
	}
	return m, len(kept), nil
}

// keep reads a file that was beside, if it may be there.
func keep(kept map[string][]byte, dir, name string, h *tar.Header, in io.Reader) error {
	inFolder, isFollow := strings.CutPrefix(name, follow+"/")
	known := name == single[0] || name == single[1] || isFollow && inFolder != "" && !strings.ContainsAny(inFolder, `/\`) && !strings.HasPrefix(inFolder, ".")
	if !known || h.Typeflag != tar.TypeReg || h.Size > maxFile || len(kept) == maxFiles {
		return fmt.Errorf("%w: %.80q is nothing that a backup holds", ErrForeign, h.Name)
	}
	if _, err := os.Lstat(fileOf(dir, name)); err == nil {
		return fmt.Errorf("%w: %s is there already; choose another directory, or move it away", ErrThere, fileOf(dir, name))
	}
	b, err := io.ReadAll(in)
	kept[name] = b
	return err
}

// put writes a new file, durably.
func put(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}
