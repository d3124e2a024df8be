// Package clitest helps to test command lines: it checks the commands that guides quote, and skips
// tests that start processes where these take too long.
package clitest

import "testing"

// NeedProcesses skips a test that starts processes, or takes as long, under -short.
func NeedProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out tests that start processes: run the test without -short")
	}
}
