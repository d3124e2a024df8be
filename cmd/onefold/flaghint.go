package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// otherNames maps flags of other servers, such as DynamoDB Local, to the equivalent flags of
// onefold.
var otherNames = map[string]string{
	"port": "addr", "listen": "addr", "host": "addr", "bind": "addr", "address": "addr",
	"dbpath": "data", "db-path": "data", "inmemory": "memory", "in-memory": "memory",
}

// flagHint returns a line that names the right flag if args contain an unknown flag of otherNames.
// Otherwise it returns "".
func flagHint(err error, args []string) string {
	var parse *kong.ParseError
	if !errors.As(err, &parse) || !strings.HasPrefix(err.Error(), "unknown flag") {
		return ""
	}
	known := knownFlags(parse.Context)
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		flag := known[otherNames[strings.ToLower(name)]]
		if flag == nil || !strings.HasPrefix(arg, "-") || known[name] != nil {
			continue
		}
		if value == "" {
			value = "8000"
		}
		switch flag.Name {
		case "addr":
			return fmt.Sprintf("Use --addr HOST:PORT, such as --addr 127.0.0.1:%s.\n", value)
		case "data":
			return "Use --data DIR.\n"
		}
		return "Use --" + flag.Name + ".\n"
	}
	return ""
}

// knownFlags returns the flags of the command parsed so far, and of its default subcommand.
func knownFlags(line *kong.Context) map[string]*kong.Flag {
	known := map[string]*kong.Flag{}
	add := func(flags []*kong.Flag) {
		for _, f := range flags {
			known[f.Name] = f
		}
	}
	add(line.Flags())
	for _, step := range line.Path {
		if node := step.Node(); node != nil && node.DefaultCmd != nil {
			add(node.DefaultCmd.Flags)
		}
	}
	return known
}
