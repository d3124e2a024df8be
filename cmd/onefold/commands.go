package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/auditcli"
	"github.com/onefold/onefold/cmd/onefold/internal/blueprintcli"
	"github.com/onefold/onefold/cmd/onefold/internal/devicecli"
	"github.com/onefold/onefold/cmd/onefold/internal/eventcli"
	"github.com/onefold/onefold/cmd/onefold/internal/migrate"
	"github.com/onefold/onefold/cmd/onefold/internal/querycli"
	"github.com/onefold/onefold/cmd/onefold/internal/segmentcli"
	"github.com/onefold/onefold/cmd/onefold/internal/warehousecli"
	"github.com/onefold/onefold/cmd/onefold/internal/workcli"
	"github.com/onefold/onefold/engine"
)

const description = "One table, folded: web analytics, device telemetry and an event store in one DynamoDB table, in which every number is a fold."

// globals are the flags of every command.
type globals struct {
	Data    string           `help:"Directory of the embedded table." default:"onefold-data" env:"ONEFOLD_DATA_DIR" type:"path"`
	Store   string           `help:"Store URL: embedded:DIR, memory:, dynamodb://TABLE?region=REGION&profile=PROFILE or dynamodb+http://HOST:PORT/TABLE (default: the embedded table in --data)." env:"ONEFOLD_STORE"`
	Reserve int64            `name:"disk-reserve" help:"Bytes to keep free on the disk of an embedded table. Below this, writes that add data are rejected (default: 256 MB or 1 % of the file system, whichever is larger; negative: no reserve)." placeholder:"BYTES" env:"ONEFOLD_DISK_RESERVE"`
	JSON    bool             `help:"Print machine-readable output." env:"ONEFOLD_JSON"`
	Verbose bool             `short:"v" help:"Log debug messages to standard error." env:"ONEFOLD_VERBOSE"`
	Version kong.VersionFlag `help:"Print the version."`
}

// commands is the command line. Each command is a type with a Run method, in a file of the
// command's name.
type commands struct {
	globals

	Site        siteCommands        `cmd:"" help:"Create and list sites."`
	User        userCommands        `cmd:"" help:"Manage users."`
	Key         keyCommands         `cmd:"" help:"Create and revoke API keys."`
	Audit       auditcli.Commands   `cmd:"" help:"List, export and verify the audit log: who changed what."`
	Import      importCommands      `cmd:"" help:"Import access logs, exports of other analytics tools, device readings and events of aggregates."`
	Lists       listsCommands       `cmd:"" help:"Check lists of data centers and referrer spam."`
	Imports     importsCommands     `cmd:"" help:"List and delete imports of daily counts."`
	Segment     segmentcli.Commands `cmd:"" help:"Manage segments, which are saved filters of a site."`
	Report      reportCommand       `cmd:"" help:"Print the statistics of a site."`
	Attribution attributionCommand  `cmd:"" help:"Attribute the revenue of a site to sources, campaigns and other dimensions."`
	Serve       serveCommand        `cmd:"" help:"Run the server: ingest, statistics, dashboard and API."`
	Work        workcli.Work        `cmd:"" help:"Fold the changes of a shared table, beside servers and other workers, and show progress."`
	Demo        demoCommand         `cmd:"" help:"Serve a fresh directory with generated data: 90 days of two sites, a week of a device fleet and two weeks of orders as events, with more arriving."`
	Verify      verifyCommand       `cmd:"" help:"Recompute statistics from raw facts and compare."`
	Rebuild     rebuildCommand      `cmd:"" help:"Recompute statistics from raw facts and replace what differs."`

	Fleet     devicecli.Fleets    `cmd:"" help:"Create and manage fleets of devices."`
	Profile   devicecli.Profiles  `cmd:"" help:"Manage profiles, which define what kinds of devices measure."`
	Device    devicecli.Devices   `cmd:"" help:"Create and manage devices."`
	Readings  devicecli.Readings  `cmd:"" help:"Show the readings of a device."`
	Telemetry devicecli.Telemetry `cmd:"" help:"Query the readings of all devices of a fleet."`
	Rules     devicecli.Rules     `cmd:"" help:"Manage alert rules and test them against stored readings."`
	Alerts    devicecli.Alerts    `cmd:"" help:"List and handle alerts."`
	Channels  devicecli.Channels  `cmd:"" help:"Manage notification channels for alerts (${channel_kinds})."`
	Simulate  simulateCommands    `cmd:"" help:"Generate device data."`

	Events eventcli.Events     `cmd:"" help:"Append, read and check events of aggregates."`
	Query  querycli.Query      `cmd:"" help:"Query the warehouse with SQL: raw facts of any age."`
	Infra  blueprintcli.Infra  `cmd:"" help:"Write AWS definitions for the table: CloudFormation, Terraform, IAM policies."`
	Lint   blueprintcli.Lint   `cmd:"" help:"Check the schema for known DynamoDB pitfalls."`
	Design blueprintcli.Design `cmd:"" help:"Write the design of the table: entities and access patterns, run on examples, with their cost."`
	Cost   blueprintcli.Cost   `cmd:"" help:"Estimate the monthly DynamoDB cost of the table, by entity and by access pattern."`
	Heat   blueprintcli.Heat   `cmd:"" help:"List partition keys that were hot while a server ran, with causes and remedies."`

	Backup backupCommands `cmd:"" help:"Back up the table and its companion files; list, verify and restore backups."`
	Mcp    mcpCommand     `cmd:"" help:"Answer AI clients on the standard streams (Model Context Protocol) with the data of a running server."`
	Health healthCommand  `cmd:"" help:"Check a server's health. The exit code is 0 only if it is healthy."`

	Move migrate.Command `cmd:"" help:"Migrate the table to another store while it is in use: copy, follow, compare, switch."`

	Warehouse warehousecli.Commands `cmd:"" help:"Export raw facts as Parquet (disk or S3) and manage the warehouse."`

	Dynamodb dynamodbCommands `cmd:"" help:"Serve the embedded database over DynamoDB's protocol, and maintain it."`
}

// engine returns the options of an embedded table. OnFatal ends the process with exit code 74,
// because after a disk failure nothing more can be acknowledged.
func (g *globals) engine(logs io.Writer) engine.Options {
	return engine.Options{Logger: g.logger(logs), DiskReserve: g.Reserve, OnFatal: func(err error) {
		fmt.Fprintf(logs, "onefold: disk_failed: %v; all acknowledged data is on disk; repair the disk, then start again\n", err)
		os.Exit(exitDisk)
	}}
}

func (g *globals) logger(w io.Writer) *slog.Logger { return terminal.Logger(w, g.Verbose) }

func printJSON(w io.Writer, v any) error { return terminal.JSON(w, v) }

// importCommands are the import commands. Without a subcommand, the files are logs.
type importCommands struct {
	Log       importCommand    `cmd:"" default:"withargs" help:"Import access logs (nginx, Apache, Caddy, CloudFront), events (GoatCounter, Umami) and daily counts (Plausible, Google Analytics). (default)"`
	Events    eventcli.Import  `cmd:"" help:"Import events of aggregates from CSV with any columns, one row per event."`
	Telemetry devicecli.Import `cmd:"" help:"Import device readings: CSV with any columns, JSON lines or line protocol."`
}

// simulateCommands are the commands that generate data.
type simulateCommands struct {
	Telemetry devicecli.Simulate `cmd:"" help:"Write readings of generated devices to a file, optionally with the faults of real ones: CSV, JSON lines or line protocol."`
}
