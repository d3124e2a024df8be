// Command onefold runs the products on an embedded table or on DynamoDB: it imports, serves,
// reports, verifies and rebuilds.
//
// Package main is the only package that imports all others. It turns flags into options, and
// options into connected parts. The commands of a product are in a package of internal, which gets
// what it needs in an Env.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/backupcli"
	"github.com/onefold/onefold/cmd/onefold/internal/devicecli"
	"github.com/onefold/onefold/cmd/onefold/internal/readingfiles"
	"github.com/onefold/onefold/cmd/onefold/internal/reportcli"
	"github.com/onefold/onefold/cmd/onefold/internal/warehousecli"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table/delivery"
)

// version is set by the linker in release builds.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process immediately
		time.AfterFunc(stopWithin, notStopped)
	})
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// stopWithin limits the time of a shutdown. It is slightly less than the stop timeout of the
// shipped systemd unit.
const stopWithin = 40 * time.Second

// notStopped ends a process whose shutdown hangs. On a disk that does not respond nothing else
// would end it.
func notStopped() {
	fmt.Fprintf(os.Stderr, "onefold: not_stopped: shutdown took longer than %s; exiting now; all acknowledged data is on disk\n", stopWithin)
	os.Exit(exitFailed)
}

// streams are the standard streams of the process. Tests replace them.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// Exit codes, which scripts may rely on.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDisk        = engine.ExitFatal // 74: the disk failed, so the embedded table cannot be written
	exitDifferences = 3                // verify, warehouse check or backup verify found a problem, or workers need attention
)

// exitError ends the process with its own exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func run(ctx context.Context, args []string, std streams) int {
	var cli commands
	exited := false
	parser, err := grammar(&cli, kong.UsageOnError(), kong.Writers(std.out, std.err), kong.Exit(func(int) { exited = true }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(std))
	if err != nil {
		fmt.Fprintln(std.err, "onefold:", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if exited {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(std.err, "onefold:", err)
		fmt.Fprint(std.err, flagHint(err, args))
		fmt.Fprintln(std.err, "See `onefold --help` or `onefold COMMAND --help`.")
		return exitUsage
	}
	if err := cli.settle(); err != nil {
		fmt.Fprintln(std.err, "onefold:", err)
		return exitUsage
	}
	return exitCode(std, command.Run(&cli.globals, cli.env(std), cli.blueprintEnv(std), cli.workEnv(std), cli.auditEnv(std), cli.queryEnv(std), cli.backupEnv(std)))
}

// grammar returns the parser of the command line.
func grammar(cli *commands, options ...kong.Option) (*kong.Kong, error) {
	cli.Channels, cli.Site.Channel = devicecli.NewChannels(), reportcli.NewChannels()
	return kong.New(cli, append([]kong.Option{
		kong.Name("onefold"), kong.Description(description), kong.Vars{
			"version": version, "dimensions": dimensionNames(), "designs": designNames(), "channel_kinds": delivery.KindNames(),
			"formats": strings.Join(logimport.Names(), ","), "reading_formats": strings.Join(readingfiles.Formats(), ","),
		},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)),
	}, options...)...)
}

// decodeDuration parses a duration, which may have days and weeks.
func decodeDuration(from *kong.DecodeContext, into reflect.Value) error {
	var text string
	err := from.Scan.PopValueInto("duration", &text)
	if err != nil {
		return err
	}
	d, err := terminal.ParseDuration(text)
	if err == nil {
		into.SetInt(int64(d))
	}
	return err
}

func exitCode(std streams, err error) int {
	var own *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &own):
		fmt.Fprintln(std.err, "onefold:", err)
		return own.code
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(std.err, "onefold: interrupted:", err)
		return exitFailed
	}
	if errors.Is(err, warehousecli.ErrDifferences) || errors.Is(err, backupcli.ErrWrong) {
		fmt.Fprintln(std.err, "onefold:", err)
		return exitDifferences
	}
	switch {
	case errors.Is(err, engine.ErrBackupUnusable):
		err = fmt.Errorf("backup_unusable: %w; no backup was made; check the database with `onefold dynamodb check`, then back it up again", err)
	case errors.Is(err, engine.ErrCorrupt):
		err = fmt.Errorf("damaged: %w; restore a backup, or recover what can be read with `onefold dynamodb salvage --to DIR`", err)
	}
	fmt.Fprintln(std.err, "onefold:", err)
	return exitFailed
}
