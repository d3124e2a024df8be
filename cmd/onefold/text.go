package main

import (
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/terminal"
)

// grouped formats n with commas between thousands.
func grouped(n int64) string { return terminal.Grouped(n) }

// dimensionNames returns the list of dimensions for a help text.
func dimensionNames() string {
	names := make([]string, len(analytics.Dimensions))
	for i, d := range analytics.Dimensions {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}

// printable makes an untrusted value safe for a terminal.
func printable(value string) string { return terminal.Printable(value) }
