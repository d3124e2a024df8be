package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
)

// grouped writes n with a comma between thousands.
func grouped(n int64) string { return terminal.Grouped(n) }

// percent writes a share of 0 to 1.
func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

// duration writes whole seconds as a person says them: 42s, 3m07s, 1h02m.
func duration(seconds int64) string {
	switch minutes := seconds / 60; {
	case minutes == 0:
		return strconv.FormatInt(seconds, 10) + "s"
	case minutes < 60:
		return fmt.Sprintf("%dm%02ds", minutes, seconds%60)
	default:
		return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
	}
}

// dimensionNames lists the dimensions for a help text.
func dimensionNames() string {
	names := make([]string, len(analytics.Dimensions))
	for i, d := range analytics.Dimensions {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}
