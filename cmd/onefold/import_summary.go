package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/internal/bulkimport"
	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/terminal"
)

// importSummary is the result of an import, with its timings.
type importSummary struct {
	logimport.Summary
	DryRun  bool               `json:"dryRun,omitempty"`
	Seconds bulkimport.Seconds `json:"seconds"`

	unread error // joined errors of files that could not be read to their end
}

// printResult prints the result of an import or dry run. It returns an error if the import is incomplete.
func (s *importSummary) printResult(out io.Writer, asJSON bool) error {
	err := s.unread
	if s.Lines > 0 && s.Malformed == s.Lines {
		err = errors.Join(fmt.Errorf("not_a_log: no line is in the format %s", formatNames(s.Formats)), err)
	}
	if asJSON {
		return errors.Join(printJSON(out, s), err)
	}
	return errors.Join(s.print(out), err)
}

func formatNames(formats []logimport.Format) string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	return strings.Join(names, " and ")
}

func (s *importSummary) print(w io.Writer) error {
	var b strings.Builder
	if s.DryRun {
		b.WriteString("Dry run, nothing was written. The import would print:\n")
	}
	fmt.Fprintf(&b, "%s: %s imported", terminal.Count(s.Lines, "line"), grouped(s.Imported))
	for _, part := range []struct {
		n    int64
		what string
	}{
		{s.Duplicates, "already stored"}, {s.Skipped.Assets, "skipped as assets"}, {s.Skipped.Bots, "skipped as bots"},
		{s.Skipped.Hosts, "skipped as other hosts"}, {s.Skipped.Other, "not page views"}, {s.Malformed, "malformed"}, {s.Rejected, "rejected"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %s %s", grouped(part.n), part.what)
		}
	}
	b.WriteString(".\n")
	if !s.First.IsZero() {
		fmt.Fprintf(&b, "From %s to %s, as %s.\n", s.First.Format(time.RFC3339), s.Last.Format(time.RFC3339), formatNames(s.Formats))
	}
	if !s.DryRun {
		fmt.Fprintf(&b, "%.1f s: %.1f reading and storing, %.1f folding the rest, %.1f rolling up; %s lines per second.\n",
			s.Seconds.Total, s.Seconds.Read, s.Seconds.Fold, s.Seconds.Roll, grouped(int64(float64(s.Lines)/max(s.Seconds.Total, 0.001))))
	}
	for _, line := range s.Examples {
		fmt.Fprintln(&b, "malformed:", line)
	}
	if more := s.Malformed - int64(len(s.Examples)); more > 0 {
		fmt.Fprintf(&b, "malformed: and %s more\n", grouped(more))
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Reasons)) {
		fmt.Fprintf(&b, "rejected: %s: %d\n", reason, s.Reasons[reason])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
