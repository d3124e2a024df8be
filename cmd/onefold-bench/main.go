// Command onefold-bench measures onefold on this machine. Most benchmarks use the packages of the
// project in this process; those of a whole server start the onefold binary.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the linker in builds of the Makefile.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	code := run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// streams are the standard streams of the process. Tests replace them.
type streams struct{ out, err io.Writer }

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func run(ctx context.Context, args []string, std streams) int {
	var cli commands
	exited := false
	parser, err := grammar(&cli, kong.UsageOnError(), kong.Writers(std.out, std.err), kong.Exit(func(int) { exited = true }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(std))
	if err != nil {
		fmt.Fprintln(std.err, "onefold-bench:", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if exited {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(std.err, "onefold-bench:", err)
		fmt.Fprintln(std.err, "See `onefold-bench --help` or `onefold-bench COMMAND --help`.")
		return exitUsage
	}
	if err := command.Run(&cli.globals); err != nil {
		fmt.Fprintln(std.err, "onefold-bench:", err)
		return exitFailed
	}
	return exitOK
}

// grammar returns the parser of the command line.
func grammar(cli *commands, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(cli, append([]kong.Option{
		kong.Name("onefold-bench"), kong.Description("Benchmarks of onefold on this machine."), kong.Vars{"version": version},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
	}, options...)...)
}
