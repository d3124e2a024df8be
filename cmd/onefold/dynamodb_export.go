package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/klauspost/compress/gzip"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/dump"
	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/dynamo"
)

type dynamodbExport struct {
	dynamodbItems
	Table    string `arg:"" help:"Table name."`
	File     string `arg:"" optional:"" default:"-" help:"Output file, compressed if its name ends in .gz. It must not exist. - is standard output."`
	Segments int    `help:"Number of parallel scans." default:"4"`
	Quiet    bool   `short:"q" help:"Hide the progress bar."`
}

// descriptionSuffix is appended to an export's file name for the description of the table.
const descriptionSuffix = ".table.json"

// Help describes the output. Kong prints it.
func (c *dynamodbExport) Help() string {
	return `Writes each item as a line {"Item":{...}} of DynamoDB JSON, like AWS exports to S3. Next to the file it writes FILE` + descriptionSuffix + `, with the
output of describe-table and describe-time-to-live, from which ` + "`onefold dynamodb import --create`" + ` can create the table. An export is not
a snapshot if others write meanwhile; for one, make a backup, restore it and export that. --endpoint may be AWS
(https://dynamodb.REGION.amazonaws.com). Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or the
machine, as with the AWS tools.`
}

// Run exports a table.
func (c *dynamodbExport) Run(ctx context.Context, std streams, g *globals) error {
	if c.Segments < 1 || c.Segments > 1000 {
		return &exitError{exitUsage, errors.New("bad_segments: --segments must be 1 to 1000")}
	}
	api, closeAPI, err := c.api(ctx, g, std.err, true)
	if err != nil {
		return err
	}
	items, err := c.export(ctx, std, api)
	if err = errors.Join(err, closeAPI()); err != nil {
		return tableError(c.Table, err)
	}
	out := std.out
	if c.File == "-" {
		out = std.err // standard output is the export itself
	}
	if g.JSON {
		return printJSON(out, map[string]int64{"items": items})
	}
	_, err = fmt.Fprintf(out, "%s exported\n", terminal.Count(items, "item"))
	return err
}

func (c *dynamodbExport) export(ctx context.Context, std streams, api dynamo.API) (items int64, err error) {
	described, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &c.Table})
	if err != nil {
		return 0, err
	}
	bar := terminal.NewSteps(std.err, c.Quiet || c.File == "-", c.Table)
	defer bar.Close()
	total := int64(0)
	if n := described.Table.ItemCount; n != nil {
		total = *n
	}
	e := dump.Export{API: api, Table: c.Table, Segments: c.Segments, Progress: func(items int64) { bar.Update(items, max(total, items)) }}
	run := func(w io.Writer) error { items, err = e.Run(ctx, w); return err }
	if c.File == "-" {
		err := compressed(std.out, false, run)
		return items, err
	}
	for _, name := range []string{c.File, c.File + descriptionSuffix} { // fail before the table is read
		if err := wholebackup.Absent(name); err != nil {
			return 0, err
		}
	}
	description, err := dump.Describe(ctx, api, c.Table)
	if err != nil {
		return 0, err
	}
	if err := wholebackup.WriteFile(c.File, func(w io.Writer) error { return compressed(w, strings.HasSuffix(c.File, ".gz"), run) }); err != nil {
		return 0, err
	}
	return items, wholebackup.WriteFile(c.File+descriptionSuffix, func(w io.Writer) error { _, err := w.Write(description); return err })
}

// compressed calls to with a buffered writer to w, which compresses if zip is set.
func compressed(w io.Writer, zip bool, to func(io.Writer) error) error {
	const size = 1 << 20
	if zip {
		z := gzip.NewWriter(w)
		return errors.Join(to(z), z.Close())
	}
	b := bufio.NewWriterSize(w, size)
	return errors.Join(to(b), b.Flush())
}

// tableError adds advice to the error for a table that does not exist.
func tableError(name string, err error) error {
	if dynamo.IsNotFound(err) {
		return fmt.Errorf("no_such_table: there is no table %q (%w)", name, err)
	}
	return err
}
