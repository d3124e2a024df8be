package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/cmd/onefold/internal/auditcli"
	"github.com/onefold/onefold/cmd/onefold/internal/blueprintcli"
	"github.com/onefold/onefold/cmd/onefold/internal/devicecli"
	"github.com/onefold/onefold/cmd/onefold/internal/eventcli"
	"github.com/onefold/onefold/cmd/onefold/internal/migrate"
	"github.com/onefold/onefold/cmd/onefold/internal/querycli"
	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/warehousecli"
	"github.com/onefold/onefold/cmd/onefold/internal/workcli"
	"github.com/onefold/onefold/engine"
)

const description = "One table, folded: web analytics, telemetry of devices and an event store whose every number is a fold of one DynamoDB table."

// globals are the flags of every command.
type globals struct {
	Data    string           `help:"Directory of the embedded table." default:"onefold-data" env:"ONEFOLD_DATA_DIR" type:"path"`
	Store   string           `help:"Where the table is: embedded:DIR, memory:, dynamodb://TABLE?region=REGION&profile=PROFILE, dynamodb+http://HOST:PORT/TABLE. Default: in the directory of --data." env:"ONEFOLD_STORE"`
	Reserve int64            `name:"disk-reserve" help:"Bytes of the disk of an embedded table that are kept free: below it, what adds something is refused. Default: the larger of 256 MB and 1 % of the file system; negative: none." placeholder:"BYTES" env:"ONEFOLD_DISK_RESERVE"`
	JSON    bool             `help:"Print machine-readable output." env:"ONEFOLD_JSON"`
	Verbose bool             `short:"v" help:"Log what goes on, to standard error." env:"ONEFOLD_VERBOSE"`
	Version kong.VersionFlag `help:"Print the version."`
}

// commands is the command line. Each command is a type with a Run method, in a file of the
// command's name.
type commands struct {
	globals

	Site    siteCommands      `cmd:"" help:"Create and list sites."`
	User    userCommands      `cmd:"" help:"Make and look after users."`
	Key     keyCommands       `cmd:"" help:"Make and revoke API keys."`
	Audit   auditcli.Commands `cmd:"" help:"List, export and check the audit record: who changed what."`
	Import  importCommands    `cmd:"" help:"Import access logs, exports of other analytics, readings of devices, and events of aggregates."`
	Imports importsCommands   `cmd:"" help:"List and delete imports of daily counts."`
	Report  reportCommand     `cmd:"" help:"Print the statistics of a site."`
	Serve   serveCommand      `cmd:"" help:"Take events over HTTP, keep statistics up to date and answer them."`
	Work    workcli.Work      `cmd:"" help:"Fold the changes of a table that servers and other workers share, and say how far that is."`
	Demo    demoCommand       `cmd:"" help:"Serve a fresh directory with 90 days of two generated sites, a week of a fleet of devices and two of orders as events, with more coming in."`
	Verify  verifyCommand     `cmd:"" help:"Recompute statistics from raw facts and compare."`
	Rebuild rebuildCommand    `cmd:"" help:"Recompute statistics from raw facts and replace what differs."`
	Bench   benchCommands     `cmd:"" help:"Measure this machine."`

	Fleet    devicecli.Fleets   `cmd:"" help:"Make and look after fleets of devices."`
	Profile  devicecli.Profiles `cmd:"" help:"Say what kinds of devices measure."`
	Device   devicecli.Devices  `cmd:"" help:"Make and look after devices."`
	Readings devicecli.Readings `cmd:"" help:"Show what a device measured."`
	Rules    devicecli.Rules    `cmd:"" help:"Say when somebody has to look, and try it on what was measured."`
	Alerts   devicecli.Alerts   `cmd:"" help:"Show alerts and look after them."`
	Channels devicecli.Channels `cmd:"" help:"Say by which ways people are told of alerts."`
	Simulate simulateCommands   `cmd:"" help:"Make up what devices send."`

	Events eventcli.Events     `cmd:"" help:"Append, read and check events of aggregates."`
	Query  querycli.Query      `cmd:"" help:"Ask SQL of the warehouse: of raw facts of any age."`
	Infra  blueprintcli.Infra  `cmd:"" help:"Write what the table needs on AWS: CloudFormation, Terraform, policies."`
	Lint   blueprintcli.Lint   `cmd:"" help:"Say what of the table's design is known to go wrong on DynamoDB."`
	Design blueprintcli.Design `cmd:"" help:"Write the design of the table: what it holds and is asked, executed on examples, with what that takes."`
	Cost   blueprintcli.Cost   `cmd:"" help:"Say what the table costs a month on DynamoDB, by entity and by pattern."`
	Heat   blueprintcli.Heat   `cmd:"" help:"Say which partition keys were hot while a server ran, why, and what to do."`

	Backup backupCommands `cmd:"" help:"Back up the table and what is kept beside it; list, try and restore backups."`
	Health healthCommand  `cmd:"" help:"Ask a server whether it is well; fails when it is not."`

	Move migrate.Command `cmd:"" help:"Move the table to another store while it is used: copy, follow, compare, switch."`

	Warehouse warehousecli.Commands `cmd:"" help:"Bring raw facts to files for analysis, Parquet, on a disk or in S3, and look after these."`

	Dynamodb dynamodbCommands `cmd:"" help:"Serve the embedded database as a DynamoDB, and look after it."`
}

// engine returns the options of an embedded table. OnFatal ends the process with exit code 74,
// because after a disk failure nothing more can be acknowledged.
func (g *globals) engine(logs io.Writer) engine.Options {
	return engine.Options{Logger: g.logger(logs), DiskReserve: g.Reserve, OnFatal: func(err error) {
		fmt.Fprintf(logs, "onefold: disk_failed: %v; what was acknowledged is on disk: start again when the disk is well\n", err)
		os.Exit(exitDisk)
	}}
}

// logger returns a logger to w, at level Warn unless --verbose is set: the result of a command is
// its output.
func (g *globals) logger(w io.Writer) *slog.Logger {
	level := slog.LevelWarn
	if g.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

func printJSON(w io.Writer, v any) error { return terminal.JSON(w, v) }

// importCommands are the import commands. Without a subcommand, the files are logs.
type importCommands struct {
	Log       importCommand    `cmd:"" default:"withargs" help:"Import access logs (nginx, Apache, Caddy, CloudFront), events (GoatCounter, Umami) and daily counts (Plausible, Google Analytics). (default)"`
	Events    eventcli.Import  `cmd:"" help:"Import events of aggregates: CSV with any columns, a row an event."`
	Telemetry devicecli.Import `cmd:"" help:"Import readings of devices: CSV with any columns, JSON lines, line protocol."`
}

// simulateCommands are the commands that generate data.
type simulateCommands struct {
	Telemetry devicecli.Simulate `cmd:"" help:"Write readings of made-up devices to a file, with all that goes wrong with real ones if wanted: CSV, JSON lines, line protocol."`
}
