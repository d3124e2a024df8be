package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/backupcli"
	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

// backupCommands are the backup commands. Without a subcommand, a backup is created.
type backupCommands struct {
	Create backupCommand `cmd:"" default:"withargs" help:"Back up the table and its companion files, even while a server runs. (default)"`
	backupcli.Commands
}

// backupCommand backs up an embedded table and its companion files.
type backupCommand struct {
	dynamodbTarget
	backupcli.Keys
	Out   string `arg:"" name:"to" help:"Destination: a new file (.tar, .tar.zst, .tar.zst.age), a directory or s3://BUCKET/PREFIX?region=REGION (backups there are named by time), or - for standard output."`
	Quiet bool   `short:"q" help:"Hide the progress bar."`
}

// Help describes the contents of a backup. Kong prints it.
func (c *backupCommand) Help() string {
	return `Writes a consistent backup of the table of --data and of its companion files: the positions in followed logs and the metered usage.
To back up while a server runs, start it with serve --dynamodb 127.0.0.1:8000, and give --endpoint http://127.0.0.1:8000 here, with the
access key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. serve --backup-to makes backups on a schedule. Checksums are verified while
the table is read. Backups in a directory or bucket, and backups with --recipient, are compressed. A table on DynamoDB is backed up by
DynamoDB.`
}

// Run creates a backup. It returns an error if the table is not embedded.
func (c *backupCommand) Run(ctx context.Context, std streams, g *globals) error {
	if err := embeddedOnly(g); err != nil {
		return err
	}
	out, err := c.Output(c.Out)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	bar := terminal.NewSteps(std.err, c.Quiet || c.Out == "-", "backup")
	name, m, err := c.run(ctx, std, g, out, bar)
	bar.Close()
	if err != nil || c.Out == "-" {
		return err
	}
	if g.JSON {
		return printJSON(std.out, struct {
			Name string `json:"name"`
			*engine.BackupManifest
		}{name, m})
	}
	_, err = fmt.Fprintf(std.out, "%s: %s, %s bytes, and the companion files of %s\n", name, terminal.Count(len(m.Tables), "table"), grouped(m.Bytes()), g.Data)
	return err
}

// run writes the backup to out. It returns the backup's name and the manifest of the table.
func (c *backupCommand) run(ctx context.Context, std streams, g *globals, out *backupcli.Output, bar *terminal.Steps) (name string, m *engine.BackupManifest, err error) {
	table := &dynamodbBackup{dynamodbTarget: c.dynamodbTarget, Out: c.Out}
	from := func(w io.Writer) (err error) { m, err = table.fetch(ctx, w, bar); return err }
	var api dynamo.API
	if c.Endpoint == "" {
		db, oerr := c.open(g, std.err)
		if oerr != nil {
			return "", nil, oerr
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		from = func(w io.Writer) (err error) { m, err = db.BackupTo(ctx, w, bar.Update); return err }
		api = db
	}
	whole := func(w io.Writer) error { return wholebackup.Write(ctx, w, g.Data, from) }
	if out.Stream {
		err = table.write(std, func(w io.Writer) error { return out.Seal(w, whole) })
		return c.Out, m, err
	}
	if api == nil {
		if api, _, err = (&dynamodbItems{c.dynamodbTarget}).api(ctx, g, std.err, true); err != nil {
			return "", nil, err
		}
	}
	id, err := tableID(ctx, api)
	if err != nil {
		return "", nil, err
	}
	name, err = out.Make(ctx, id, g.Data, g.Reserve, whole)
	return name, m, err
}

// tableID returns the DynamoDB table ID of the products' table. It is empty if the database holds
// only other tables.
func tableID(ctx context.Context, api dynamo.API) (string, error) {
	name := tableName
	out, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if dynamo.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Table.TableId), nil
}

// embeddedOnly returns an error unless the table is in a directory. DynamoDB has backups of its
// own.
func embeddedOnly(g *globals) error {
	where, err := g.place()
	if err == nil && where.Dir == "" {
		err = fmt.Errorf("not_embedded: %s is not an embedded table; use the service's own backups (point-in-time recovery), or copy the table into a directory with onefold move", where)
	}
	return err
}

// backupEnv returns the environment of the backup commands.
func (g *globals) backupEnv(std streams) *backupcli.Env {
	return &backupcli.Env{
		In: std.in, Out: std.out, Err: std.err, JSON: g.JSON, Data: g.Data, Engine: g.engine(std.err),
		Embedded: func() error { return embeddedOnly(g) },
	}
}

// backups returns the service that backs up the table of s on a schedule, if the flags ask for one.
func (c *serveCommand) backups(ctx context.Context, s *store, g *globals, std streams) ([]service, error) {
	if c.Backup.To == "" {
		return nil, nil
	}
	if err := embeddedOnly(g); err != nil {
		return nil, &exitError{exitUsage, err}
	}
	id, err := tableID(ctx, s.Engine)
	if err != nil {
		return nil, err
	}
	schedule, err := c.Backup.Schedule(ctx, backupcli.Table{Engine: s.Engine, Data: g.Data, ID: id}, g.logger(std.err))
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	s.collectors = append(s.collectors, schedule)
	return []service{s.parts.Keep("backup", schedule.Run)}, nil
}
