package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/engine"
)

// backupCommand backs up a directory with what is beside it.
type backupCommand struct {
	dynamodbTarget
	Out   string `arg:"" help:"A new file whose name ends in .tar, or - for standard output."`
	Quiet bool   `short:"q" help:"No progress bar."`
}

// Help says what is in it. Kong prints it.
func (c *backupCommand) Help() string {
	return `Backs up the table of --data as it was at one moment, and what is kept beside it: how far logs were followed, and what the
meters said. While a server runs, it needs serve --dynamodb 127.0.0.1:8000, and here --endpoint http://127.0.0.1:8000 with the access key in
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The table is compared with its checksums as it is read. A table on a service is backed up by the service.`
}

// Run backs up.
func (c *backupCommand) Run(ctx context.Context, std streams, g *globals) error {
	if err := embeddedOnly(g); err != nil {
		return err
	}
	if c.Out != "-" && !strings.HasSuffix(c.Out, ".tar") {
		return &exitError{exitUsage, errors.New("bad_output: a backup is a stream; name a file that ends in .tar, or -")}
	}
	bar := terminal.NewSteps(std.err, c.Quiet || c.Out == "-", "backup")
	table := dynamodbBackup{dynamodbTarget: c.dynamodbTarget, Out: c.Out}
	m, err := c.run(ctx, std, g, &table, bar)
	bar.Close()
	if err != nil || c.Out == "-" {
		return err
	}
	if g.JSON {
		return printJSON(std.out, m)
	}
	_, err = fmt.Fprintf(std.out, "%s: %s, %s bytes, and what is beside %s\n", c.Out, terminal.Count(len(m.Tables), "table"), grouped(m.Bytes()), g.Data)
	return err
}

func (c *backupCommand) run(ctx context.Context, std streams, g *globals, table *dynamodbBackup, bar *terminal.Steps) (m *engine.BackupManifest, err error) {
	from := func(w io.Writer) (err error) { m, err = table.fetch(ctx, w, bar); return err }
	if c.Endpoint == "" {
		db, oerr := c.open(g, std.err)
		if oerr != nil {
			return nil, oerr
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		from = func(w io.Writer) (err error) { m, err = db.BackupTo(ctx, w, bar.Update); return err }
	}
	err = table.write(std, func(w io.Writer) error { return wholebackup.Write(ctx, w, g.Data, from) })
	return m, err
}

// embeddedOnly refuses a table that is not in a directory.
func embeddedOnly(g *globals) error {
	where, err := g.place()
	if err == nil && where.Dir == "" {
		err = fmt.Errorf("not_embedded: %s is not in a directory; a service backs up its tables itself (point-in-time recovery), and onefold move copies one into a directory", where)
	}
	return err
}

// restoreCommand makes a directory of a backup.
type restoreCommand struct {
	In    string `arg:"" help:"A backup: a .tar file, or - for standard input."`
	Dir   string `arg:"" help:"The new directory: empty or absent. What was beside the old one is put beside it." type:"path"`
	Quiet bool   `short:"q" help:"No progress bar."`
}

// Run restores.
func (c *restoreCommand) Run(ctx context.Context, std streams, g *globals) error {
	if info, err := os.Stat(c.In); err == nil && info.IsDir() {
		return fmt.Errorf("is_directory: %s is a directory; onefold dynamodb restore takes those", c.In)
	}
	in, size, closeIn, err := openBackup(std, c.In, "onefold restore")
	if err != nil {
		return err
	}
	bar := terminal.NewSteps(std.err, c.Quiet, "restore")
	m, files, err := wholebackup.Restore(ctx, in, c.Dir, func(done, _ int64) { bar.Update(done, size) })
	bar.Close()
	if err := errors.Join(wholebackup.Explain(err, c.In, c.Dir), closeIn()); err != nil {
		return err
	}
	if g.JSON {
		return printJSON(std.out, m)
	}
	_, err = fmt.Fprintf(std.out, "%s: %s as of %s, and, beside it, files: %d\n", c.Dir, terminal.Count(len(m.Tables), "table"), m.Taken.Format("2006-01-02 15:04:05 UTC"), files)
	return err
}
