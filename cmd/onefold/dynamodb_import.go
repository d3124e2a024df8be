package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/dump"
	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/dynamo"
)

type dynamodbImport struct {
	dynamodbItems
	Table   string   `arg:"" help:"Table name."`
	Files   []string `arg:"" optional:"" name:"file" help:"Files of DynamoDB JSON lines, plain or compressed with gzip or zstd, or the directory of an AWS export; - or none is standard input."`
	Create  bool     `help:"Create the table, if it does not exist, from the description that an export wrote next to the first file."`
	Schema  string   `help:"Create the table, if it does not exist, from this description: output of describe-table or input of create-table." type:"existingfile" placeholder:"FILE"`
	Rejects string   `help:"Write lines that cannot be imported to this file and continue; the exit code is then 1 (default: stop at the first such line)." type:"path" placeholder:"FILE"`
	Writers int      `help:"Number of batches written in parallel." default:"4"`
	Quiet   bool     `short:"q" help:"Hide the progress bar."`
}

// Help describes an import. Kong prints it.
func (c *dynamodbImport) Help() string {
	return `Puts the item of each line {"Item":{...}}. It replaces an item with the same key; the last of several lines with the same key wins. Run an
interrupted import again to resume it. The directory of an AWS export to S3 (AWSDynamoDB/ID) is read through its manifest, and its
checksums and counts are verified. --endpoint may be AWS. Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a
profile or the machine, as with the AWS tools.`
}

// Run imports items. If lines were rejected, it returns an error after the import.
func (c *dynamodbImport) Run(ctx context.Context, std streams, g *globals) (err error) {
	if c.Writers < 1 || c.Writers > 256 {
		return &exitError{exitUsage, errors.New("bad_writers: --writers must be 1 to 256")}
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
		err = fmt.Errorf("rejected: %s not imported; everything readable of these is in %s", terminal.Count(sum.Rejected, "line"), c.Rejects)
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
		return nil, fmt.Errorf("no_description: %w; give a description of the table with --schema", err)
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
		return fmt.Errorf("bad_line: %w\nFix the line, or collect such lines with --rejects FILE, and import again; items already imported are overwritten with the same values", err)
	case errors.Is(err, dump.ErrUnreadable):
		return fmt.Errorf("unreadable: %w\nThe file is truncated or damaged: get a complete copy and import again; items already imported stay", err)
	case dynamo.IsNotFound(err):
		return fmt.Errorf("no_such_table: there is no table %q; create it with --create or --schema FILE (%w)", c.Table, err)
	}
	return fmt.Errorf("%w\nItems already imported stay; import again to continue", err)
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
	m.Reject = func(r dump.Rejected) error { return writeReject(rejects, std.err, r) }
	sum, err = m.Run(ctx, sources)
	err = errors.Join(err, rejects.Sync(), rejects.Close())
	if sum.Rejected == 0 { // otherwise keep the rejected lines, however the import ended
		err = errors.Join(err, os.Remove(c.Rejects))
	}
	return sum, err
}

// writeReject writes a rejected line to the file of rejects, and the reason to errs. A line that was
// too long to read is not in the file.
func writeReject(rejects, errs io.Writer, r dump.Rejected) error {
	if len(r.Text) > 0 {
		if _, err := rejects.Write(append(r.Text, '\n')); err != nil {
			return fmt.Errorf("reject: %w", err)
		}
	}
	_, err := fmt.Fprintln(errs, "onefold: rejected:", r.Error())
	return err
}
