package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/onefold/onefold/cmd/onefold/internal/dump"
	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/dynamo"
)

type dynamodbImport struct {
	dynamodbItems
	Table   string   `arg:"" help:"The table."`
	Files   []string `arg:"" optional:"" name:"file" help:"Lines of DynamoDB's JSON, plain, gzip or zstd; a folder of an export of AWS; - or none is standard input."`
	Create  bool     `help:"Make the table, when there is none, from the description that an export put beside the first file."`
	Schema  string   `help:"Make the table, when there is none, from this description: what describe-table prints, or the input of create-table." type:"existingfile" placeholder:"FILE"`
	Rejects string   `help:"Put lines that cannot be imported into this file and go on; the exit code is 1 then. Default: stop at the first." type:"path" placeholder:"FILE"`
	Writers int      `help:"Batches written at once." default:"4"`
	Quiet   bool     `short:"q" help:"No progress bar."`
}

// Help describes an import. Kong prints it.
func (c *dynamodbImport) Help() string {
	return `Puts the item of each line {"Item":{...}}: one with the same key is replaced, and of several lines with one key the last counts. So an
import that stopped is resumed by doing it again. A folder of an export of AWS to S3 (AWSDynamoDB/ID) is read by its manifest, with the
checksums and counts in it. --endpoint may be AWS; credentials are those that AWS's tools find: in AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, of a profile, or of the machine.`
}

// Run imports items. If lines were rejected, it returns an error after the import.
func (c *dynamodbImport) Run(ctx context.Context, std streams, g *globals) (err error) {
	if c.Writers < 1 || c.Writers > 256 {
		return &exitError{exitUsage, errors.New("bad_writers: --writers is 1 to 256")}
	}
	if len(c.Files) == 0 {
		c.Files = []string{"-"}
	}
	sources, err := dump.Sources(c.Files)
	if err != nil {
		return err
	}
	description, err := c.description()
	if err != nil {
		return err
	}
	api, closeAPI, err := c.api(ctx, g, std.err, description == nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAPI()) }()
	if description != nil {
		if _, err := description.Ensure(ctx, api, c.Table); err != nil {
			return err
		}
	}
	sum, err := c.run(ctx, std, api, sources)
	if err != nil {
		return c.explain(err)
	}
	if g.JSON {
		err = printJSON(std.out, sum)
	} else {
		_, err = fmt.Fprintf(std.out, "%s: %s imported, %s rejected\n", terminal.Count(sum.Lines, "line"), terminal.Count(sum.Items, "item"), grouped(sum.Rejected))
	}
	if err == nil && sum.Rejected > 0 {
		err = fmt.Errorf("rejected: %s not imported; what could be read of that is in %s", terminal.Count(sum.Rejected, "line"), c.Rejects)
	}
	return err
}

// description returns the description from which to create the table, or nil if the table must
// exist.
func (c *dynamodbImport) description() (*dump.Description, error) {
	name := c.Schema
	if name == "" && !c.Create {
		return nil, nil
	}
	if name == "" {
		name = c.Files[0] + descriptionSuffix
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("no_description: %w; --schema names another description of the table", err)
	}
	d, err := dump.ParseDescription(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// explain adds advice to the error of an interrupted import.
func (c *dynamodbImport) explain(err error) error {
	var r *dump.Rejected
	switch {
	case errors.As(err, &r):
		return fmt.Errorf("bad_line: %w\nMend it, or put such lines aside with --rejects FILE; import again: what was imported stays and is only replaced by itself", err)
	case errors.Is(err, dump.ErrUnreadable):
		return fmt.Errorf("unreadable: %w\nThe file is cut off or damaged: get it whole; what was imported before stays", err)
	case dynamo.IsNotFound(err):
		return fmt.Errorf("no_such_table: there is no table %q; --create or --schema FILE makes it (%w)", c.Table, err)
	}
	return fmt.Errorf("%w\nWhat was imported stays; import again to go on", err)
}

func (c *dynamodbImport) run(ctx context.Context, std streams, api dynamo.API, sources []dump.Source) (sum dump.Imported, err error) {
	names := make([]string, len(sources))
	for i := range sources {
		names[i] = sources[i].Name
	}
	bar := terminal.NewFiles(std.err, c.Quiet, names)
	defer bar.Close()
	m := dump.Import{API: api, Table: c.Table, Writers: c.Writers, Stdin: std.in}
	var before, lines int64 // lines in earlier files, and in this file
	m.Begin = func(f *dump.File, _, _ int) {
		before, lines = before+lines, 0
		bar.Start(f.Name, f.Size, f.BytesRead)
	}
	m.Read = func(n, _ int64) { lines = n; bar.Lines(before + n) }
	if c.Rejects == "" {
		return m.Run(ctx, sources)
	}
	rejects, err := os.OpenFile(c.Rejects, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return sum, wholebackup.Absent(c.Rejects)
	}
	if err != nil {
		return sum, fmt.Errorf("rejects: %w", err)
	}
	m.Reject = func(r dump.Rejected) error { return putAside(rejects, std.err, r) }
	sum, err = m.Run(ctx, sources)
	err = errors.Join(err, rejects.Sync(), rejects.Close())
	if sum.Rejected == 0 { // otherwise keep the rejected lines, however the import ended
		err = errors.Join(err, os.Remove(c.Rejects))
	}
	return sum, err
}

// putAside writes a rejected line to the file of rejects, and the reason to errs. A line that was
// too long to read is not in the file.
func putAside(rejects, errs io.Writer, r dump.Rejected) error {
	if len(r.Text) > 0 {
		if _, err := rejects.Write(append(r.Text, '\n')); err != nil {
			return fmt.Errorf("reject: %w", err)
		}
	}
	_, err := fmt.Fprintln(errs, "onefold: rejected:", r.Error())
	return err
}
