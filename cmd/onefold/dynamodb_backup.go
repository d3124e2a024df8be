package main

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/engine"
)

type dynamodbBackup struct {
	dynamodbTarget
	Out   string `arg:"" help:"Destination: a new directory (not with --endpoint), a file whose name ends in .tar, or - for standard output."`
	Quiet bool   `short:"q" help:"Hide the progress bar."`
}

// Help describes backups. Kong prints it.
func (c *dynamodbBackup) Help() string {
	return `A backup is a consistent copy of the whole database. With --endpoint it is made while the server runs, and
sent as a stream; OUT must then be a .tar file or -. Checksums are verified while the backup is made, so a corrupt database is never
backed up. A directory shares its files with the database through hard links where the file system supports them, so keep a copy of
it, or a .tar file, on another disk too.`
}

// Run backs up the database.
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
			return nil, &exitError{exitUsage, errors.New("bad_output: a server sends a backup as a stream; give a file whose name ends in .tar, or -")}
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
		err = wholebackup.Explain(err, c.Out, c.Out)
	}
	return m, errors.Join(err, db.Close())
}

// write writes the backup to standard output, or to a file that gets its name when it is complete.
func (c *dynamodbBackup) write(std streams, to func(io.Writer) error) error {
	if c.Out == "-" {
		return to(std.out)
	}
	return wholebackup.WriteFile(c.Out, to)
}

// fetch copies a server's backup to w and reads its manifest. A truncated stream has no manifest or
// no end, which is an error.
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

// maxManifest bounds the manifest that is read, in bytes. It is larger than that of any backup that
// can be restored.
const maxManifest = 512 << 20

// manifestOf reads a tar stream of a backup up to its manifest.
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
			return m, json.NewDecoder(io.LimitReader(archive, maxManifest)).Decode(m)
		}
	}
}

// writerFunc implements io.Writer with a function.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

type dynamodbRestore struct {
	In    string `arg:"" help:"Backup: a directory, a .tar file, or - for standard input."`
	Dir   string `arg:"" help:"Directory of the new database, empty or absent." type:"path"`
	Quiet bool   `short:"q" help:"Hide the progress bar."`
}

// Run creates a database from a backup.
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
	if info, err := os.Stat(c.In); err == nil && info.IsDir() {
		m, err := engine.Restore(ctx, c.In, c.Dir, bar.Update)
		return m, wholebackup.Explain(err, c.In, c.Dir)
	}
	in, size, closeIn, err := openBackup(std, c.In, "onefold dynamodb restore - DIR")
	if err != nil {
		return nil, err
	}
	m, err := engine.RestoreFrom(ctx, in, c.Dir, func(done, _ int64) { bar.Update(done, size) })
	return m, errors.Join(wholebackup.Explain(err, c.In, c.Dir), closeIn())
}

// openBackup opens a stream to be restored. command is named in the error for a compressed file.
// size is -1 if unknown.
func openBackup(std streams, name, command string) (in io.Reader, size int64, closeIn func() error, err error) {
	in, size, closeIn = std.in, -1, func() error { return nil }
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, 0, nil, fmt.Errorf("no_such_file: %w", err)
		}
		info, err := f.Stat()
		if err != nil {
			return nil, 0, nil, errors.Join(err, f.Close())
		}
		in, size, closeIn = f, info.Size(), f.Close
	}
	if in, err = wholebackup.Plain(in, name, command); err != nil {
		return nil, 0, nil, errors.Join(err, closeIn())
	}
	return in, size, closeIn, nil
}
