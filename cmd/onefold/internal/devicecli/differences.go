package devicecli

import (
	"errors"
	"fmt"
	"io"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/telemetry/recount"
)

// ExplainRecount adds advice to an error of verify or rebuild.
func ExplainRecount(in recount.RangeIn, err error) error {
	switch {
	case errors.Is(err, recount.ErrDevice):
		return fmt.Errorf("no_such_device: fleet %q has no device %q; `onefold device list --fleet %s` shows its devices", in.Fleet, in.Device, in.Fleet)
	case errors.Is(err, recount.ErrRange):
		return fmt.Errorf("invalid_range: %w", err)
	}
	return explain("fleet", in.Fleet, err)
}

// PrintDifferences prints the differences found by verify or rebuild for a fleet.
func PrintDifferences(out io.Writer, d *recount.Differences) (err error) {
	line := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(out, format+"\n", args...)
		}
	}
	line("%s, %s, %s compared: %s differ", terminal.Count(d.Devices, "device"), terminal.Count(d.Readings, "raw reading"), terminal.Count(d.Items, "derived item"), terminal.Grouped(d.Count))
	if d.Repaired > 0 {
		line("%s repaired", terminal.Grouped(d.Repaired))
	}
	for _, diff := range d.List {
		line("%s %s", diff.Kind, terminal.Clean(diff.Item()))
		if diff.Stored != "" {
			line("  stored  %s", terminal.Clean(diff.Stored))
		}
		if diff.Want != "" {
			line("  facts   %s", terminal.Clean(diff.Want))
		}
	}
	if more := d.Count - int64(len(d.List)); more > 0 {
		line("and %s more", terminal.Grouped(more))
	}
	if d.SealedItems > 0 {
		line("%s skipped because some raw readings have expired or cannot be read, the first %s", terminal.Count(d.SealedItems, "item"), terminal.Clean(d.Sealed[0]))
	}
	if d.Waiting > 0 {
		line("%s skipped because a retraction is still being applied; run the command again later", terminal.Count(d.Waiting, "day"))
	}
	for _, item := range d.Busy {
		line("%s was written continuously and could not be compared; run the command again", terminal.Clean(item))
	}
	return err
}
