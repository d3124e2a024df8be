package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
	"github.com/onefold/onefold/engine"
)

type dynamodbBackup struct {
	dynamodbTarget
	Out   string `arg:"" help:"A new directory (not with --endpoint), a file whose name ends in .tar, or - for standard output."`
	Quiet bool   `short:"q" help:"No progress bar."`
}

// Help says what a backup is. Kong prints it.
func (c *dynamodbBackup) Help() string {
	return `A backup is the whole database as it was at one moment. With --endpoint it is made while the server goes on,
and comes as a stream: OUT is a .tar file or - then. It is read and compared with its checksums as it is made, so there is none of a
damaged database. A directory shares
its files with the database where the file system can (hard links), so put it, or a .tar file, on another disk as well.`
}

// Run backs the database up.
func (c *dynamodbBackup) Run(ctx context.Context, std streams, g *globals) error {
	bar := terminal.NewSteps(std.err, c.Quiet || c.Out == "-", "backup")
	m, err := c.run(ctx, std, g, bar)
	bar.Close()
	if err != nil {
		return err
	}
	if g.JSON && c.Out != "-" {
		return printJSON(std.out, m)
	}
	if m != nil && c.Out != "-" {
		_, err = fmt.Fprintf(std.out, "%s: %s, %s bytes\n", c.Out, terminal.Count(len(m.Tables), "table"), grouped(m.Bytes()))
	}
	return err
}

func (c *dynamodbBackup) run(ctx context.Context, std streams, g *globals, bar *terminal.Steps) (*engine.BackupManifest, error) {
	stream := c.Out == "-" || strings.HasSuffix(c.Out, ".tar")
	if c.Endpoint != "" {
		if !stream {
			return nil, &exitError{exitUsage, errors.New("bad_output: a server sends a backup as a stream; name a file that ends in .tar, or -")}
		}
		var m *engine.BackupManifest
		err := c.write(std, func(w io.Writer) (err error) { m, err = c.fetch(ctx, w, bar); return err })
		return m, err
	}
	db, err := c.open(g, std.err)
	if err != nil {
		return nil, err
	}
	var m *engine.BackupManifest
	if stream {
		err = c.write(std, func(w io.Writer) (err error) { m, err = db.BackupTo(ctx, w, bar.Update); return err })
	} else {
		m, err = db.Backup(ctx, c.Out, bar.Update)
	}
	return m, errors.Join(err, db.Close())
}

// write writes the backup to standard output, or to a file that appears when it is whole.
func (c *dynamodbBackup) write(std streams, to func(io.Writer) error) error {
	if c.Out == "-" {
		return to(std.out)
	}
	return writeWhole(c.Out, to)
}

// absent refuses to write over a file.
func absent(name string) error {
	if _, err := os.Stat(name); err == nil {
		return fmt.Errorf("file_exists: %s is there already; remove it, or choose another name", name)
	}
	return nil
}

// writeWhole writes a new file under another name and gives it its own when it is whole and on disk.
func writeWhole(name string, to func(io.Writer) error) (err error) {
	if err := absent(name); err != nil {
		return err
	}
	partial := name + ".partial"
	defer func() { err = named(err, partial, name) }()
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = to(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(partial, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// named lets an error of a file that is being written speak of it by the name that it was to get.
func named(err error, partial, name string) error {
	var file *fs.PathError
	var link *os.LinkError
	if errors.As(err, &file) && file.Path == partial {
		file.Path = name
	} else if errors.As(err, &link) && link.Old == partial {
		link.Old = name
	}
	return err
}

// fetch copies a server's backup and reads the manifest in it. A stream that ends too early has none, or no end.
func (c *dynamodbBackup) fetch(ctx context.Context, w io.Writer, bar *terminal.Steps) (m *engine.BackupManifest, err error) {
	body, err := c.admin(ctx, "backup")
	if err != nil {
		return nil, err
	}
	done := int64(0)
	copied := io.TeeReader(io.TeeReader(body, w), writerFunc(func(b []byte) (int, error) {
		done += int64(len(b))
		bar.Update(done, -1)
		return len(b), nil
	}))
	if m, err = manifestOf(copied); err == nil {
		_, err = io.Copy(io.Discard, copied)
	}
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("backup_cut_off: %w; see the server's log", err)
	}
	return m, nil
}

// manifestOf reads a tar stream up to the manifest of the backup that it is.
func manifestOf(r io.Reader) (*engine.BackupManifest, error) {
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			err = engine.ErrBackupIncomplete
		}
		if err != nil {
			return nil, err
		}
		if h.Name == engine.BackupManifestName {
			m := new(engine.BackupManifest)
			return m, json.NewDecoder(archive).Decode(m)
		}
	}
}

// writerFunc is an io.Writer of one function.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

type dynamodbRestore struct {
	In    string `arg:"" help:"A backup: a directory, a .tar file, or - for standard input."`
	Dir   string `arg:"" help:"The new database: an empty or absent directory." type:"path"`
	Quiet bool   `short:"q" help:"No progress bar."`
}

// Run makes a database from a backup.
func (c *dynamodbRestore) Run(ctx context.Context, std streams, g *globals) error {
	bar := terminal.NewSteps(std.err, c.Quiet, "restore")
	m, err := c.run(ctx, std, bar)
	bar.Close()
	if err != nil {
		return err
	}
	if g.JSON {
		return printJSON(std.out, m)
	}
	_, err = fmt.Fprintf(std.out, "%s: %s as of %s\n", c.Dir, terminal.Count(len(m.Tables), "table"), m.Taken.Format("2006-01-02 15:04:05 UTC"))
	return err
}

func (c *dynamodbRestore) run(ctx context.Context, std streams, bar *terminal.Steps) (*engine.BackupManifest, error) {
	if c.In == "-" {
		return c.unpack(ctx, std.in, bar.Update)
	}
	info, err := os.Stat(c.In)
	if err != nil {
		return nil, fmt.Errorf("no_such_file: %w", err)
	}
	if info.IsDir() {
		return engine.Restore(ctx, c.In, c.Dir, bar.Update)
	}
	f, err := os.Open(c.In)
	if err != nil {
		return nil, err
	}
	m, err := c.unpack(ctx, f, func(done, _ int64) { bar.Update(done, info.Size()) })
	return m, errors.Join(err, f.Close())
}

// unpack restores from a stream, and says what to do about one that is compressed.
func (c *dynamodbRestore) unpack(ctx context.Context, r io.Reader, progress engine.BackupProgress) (*engine.BackupManifest, error) {
	in := bufio.NewReader(r)
	first, _ := in.Peek(4) // a shorter stream is no backup, which RestoreFrom says
	for tool, magic := range map[string]string{"gzip": "\x1f\x8b", "zstd": "\x28\xb5\x2f\xfd", "xz": "\xfd7zX", "bzip2": "BZh"} {
		if bytes.HasPrefix(first, []byte(magic)) {
			return nil, fmt.Errorf("compressed: %s is compressed; decompress it first: `%s -dc FILE | onefold dynamodb restore - DIR`", c.In, tool)
		}
	}
	return engine.RestoreFrom(ctx, in, c.Dir, progress)
}
