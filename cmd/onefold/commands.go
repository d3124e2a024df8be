package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/alecthomas/kong"
)

const description = "One table, folded: web analytics whose every number is a fold of one DynamoDB table."

// globals are the flags that every command has.
type globals struct {
	Data    string           `help:"Directory of the embedded table." default:"onefold-data" env:"ONEFOLD_DATA_DIR" type:"path"`
	JSON    bool             `help:"Print machine-readable output." env:"ONEFOLD_JSON"`
	Verbose bool             `short:"v" help:"Log what goes on, to standard error." env:"ONEFOLD_VERBOSE"`
	Version kong.VersionFlag `help:"Print the version."`
}

// commands is the command line. Each command is a type with a Run method, in a file of its name.
type commands struct {
	globals

	Site    siteCommands    `cmd:"" help:"Create and list sites."`
	User    userCommands    `cmd:"" help:"Make and look after users."`
	Key     keyCommands     `cmd:"" help:"Make and revoke API keys."`
	Import  importCommand   `cmd:"" help:"Import access logs (nginx, Apache, Caddy, CloudFront), events (GoatCounter, Umami) and daily counts (Plausible, Google Analytics)."`
	Imports importsCommands `cmd:"" help:"List and delete imports of daily counts."`
	Report  reportCommand   `cmd:"" help:"Print the statistics of a site."`
	Serve   serveCommand    `cmd:"" help:"Take events over HTTP, keep statistics up to date and answer them."`
	Demo    demoCommand     `cmd:"" help:"Serve a fresh directory with 90 days of two generated sites, and visitors coming in."`
	Verify  verifyCommand   `cmd:"" help:"Recompute statistics from raw facts and compare."`
	Rebuild rebuildCommand  `cmd:"" help:"Recompute statistics from raw facts and replace what differs."`
	Bench   benchCommands   `cmd:"" help:"Measure this machine."`

	Dynamodb dynamodbCommands `cmd:"" help:"Serve the embedded database as a DynamoDB, and look after it."`
}

// logger writes to standard error; quiet unless asked, because a command's result is what it prints.
func (g *globals) logger(w io.Writer) *slog.Logger {
	level := slog.LevelWarn
	if g.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
