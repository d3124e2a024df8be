// Package auditcli implements the commands that list, export and verify the audit log.
package auditcli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/server/accounts"
)

// Env is the environment of the commands.
type Env struct {
	Out, Err io.Writer
	JSON     bool // print JSON
	// Open runs work with the accounts of an existing table.
	Open func(ctx context.Context, work func(*accounts.Store) error) error
	// Alarm wraps an error so that the process ends with the exit code for a problem found.
	Alarm func(error) error
	Now   func() time.Time
}

// Commands are the audit commands.
type Commands struct {
	List   list   `cmd:"" help:"List changes and who made them, latest first."`
	Export export `cmd:"" help:"Write the audit log to a file, oldest entry first."`
	Verify verify `cmd:"" help:"Verify that no entry of the audit log is missing, changed, added or moved. Fails otherwise."`
}

type list struct {
	Month string `help:"Month in UTC, such as 2026-05 (default: the current month)." placeholder:"MONTH"`
	Limit int    `help:"Maximum number of entries, 1 to 1000." default:"50"`
}

// Validate checks the flags. Kong calls it.
func (c *list) Validate() error {
	if c.Limit < 1 || c.Limit > 1000 {
		return errors.New("--limit must be 1 to 1000")
	}
	return nil
}

// Run lists the entries of a month, latest first.
func (c *list) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *accounts.Store) error {
		page, err := s.Audit(ctx, c.Month, "", c.Limit)
		if err != nil {
			return invalid(err)
		}
		entries := make([]accounts.EntryJSON, len(page.Items))
		for i := range page.Items {
			entries[i] = page.Items[i].JSON()
		}
		if env.JSON {
			return terminal.JSON(env.Out, entries)
		}
		w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "ENTRY\tAT\tACTOR\tACTION\tSITE\tSUBJECT\tCHANGES")
		for i := range entries {
			e := &entries[i]
			told := append(changes(e), "")
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Seq, e.At.Format(time.RFC3339), e.Actor, e.Action, terminal.Printable(e.Site), terminal.Printable(e.Subject), told[0])
			for _, line := range told[1:max(1, len(told)-1)] {
				fmt.Fprintf(w, "\t\t\t\t\t\t%s\n", line)
			}
		}
		return w.Flush()
	})
}

// changes returns the changes of an entry, one per line.
func changes(e *accounts.EntryJSON) []string {
	var all []string
	for _, c := range e.Changes {
		switch {
		case c.Hidden:
			all = append(all, c.Field+" (hidden)")
		case c.Before == "":
			all = append(all, c.Field+": "+c.After)
		default:
			all = append(all, c.Field+": "+c.Before+" → "+c.After)
		}
	}
	if e.Omitted > 0 {
		all = append(all, fmt.Sprintf("and %d more", e.Omitted))
	}
	for i := range all {
		all[i] = terminal.Printable(all[i])
	}
	return all
}

type export struct {
	From   string `help:"First day in UTC, such as 2026-05-01 (default: the first day kept)." placeholder:"DAY"`
	To     string `help:"Last day in UTC, inclusive (default: today)." placeholder:"DAY"`
	Format string `help:"Output format: ndjson or csv." enum:"ndjson,csv" default:"ndjson"`
	Output string `short:"o" help:"Output file (default: standard output)." placeholder:"FILE"`
}

// Run writes the audit log to a file. It removes an incomplete file, so that nobody mistakes it for
// a complete one.
func (c *export) Run(ctx context.Context, env *Env) (err error) {
	from, to, err := accounts.AuditDays(c.From, c.To, env.Now())
	if err != nil {
		return invalid(err)
	}
	out, n := env.Out, int64(0)
	if c.Output != "" {
		file, openErr := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if openErr != nil {
			return openErr
		}
		defer func() {
			if err = errors.Join(err, file.Close()); err != nil {
				err = errors.Join(err, os.Remove(c.Output))
			}
		}()
		out = file
	}
	buffered := bufio.NewWriter(out)
	err = env.Open(ctx, func(s *accounts.Store) (err error) {
		n, err = accounts.WriteEntries(buffered, accounts.ExportFormat(c.Format), s.EntriesBetween(ctx, from, to), env.progress())
		return errors.Join(err, buffered.Flush())
	})
	if err == nil && c.Output != "" {
		_, err = fmt.Fprintf(env.Err, "Wrote %s entries to %s.\n", terminal.Grouped(n), c.Output)
	}
	return err
}

// progress returns a function that shows the number of written entries, if standard error is a
// terminal.
func (env *Env) progress() func(int64) {
	if !terminal.IsScreen(env.Err) {
		return func(int64) {}
	}
	return func(n int64) {
		if n%10_000 == 0 {
			fmt.Fprintf(env.Err, "%s entries\n", terminal.Grouped(n))
		}
	}
}

type verify struct {
	Head string `help:"Head printed by an earlier check. Fails if the chain no longer contains it." placeholder:"HEAD"`
}

type verified struct {
	Whole   bool             `json:"whole"`
	Entries int64            `json:"entries"`
	Older   int64            `json:"older"`
	First   int64            `json:"first,omitempty"`
	Head    string           `json:"head,omitempty"`
	Noted   accounts.Noted   `json:"noted,omitempty"`
	Damage  *accounts.Damage `json:"damage,omitempty"`
}

// Run verifies the chain of entries. A damaged chain or a missing head is an Alarm.
func (c *verify) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *accounts.Store) error {
		v, err := s.Verify(ctx, c.Head)
		if err != nil {
			return invalid(err)
		}
		if env.JSON {
			err = terminal.JSON(env.Out, verified{v.Whole(), v.Entries, v.Older, v.First, v.Head, v.Noted, v.Damage})
		} else {
			err = printVerified(env.Out, &v)
		}
		switch {
		case err != nil:
			return err
		case v.Damage != nil:
			return env.Alarm(fmt.Errorf("audit_damaged: %s: %s", v.Damage.Code, v.Damage.Detail))
		case v.Noted == accounts.Missing:
			return env.Alarm(fmt.Errorf("audit_head_missing: the chain no longer contains the head %s: the audit log was rewritten", c.Head))
		}
		return nil
	})
}

func printVerified(w io.Writer, v *accounts.Verified) error {
	var lines []string
	switch {
	case v.Damage != nil:
		at := ""
		if !v.Damage.At.IsZero() {
			at = " of " + v.Damage.At.Format(time.RFC3339)
		}
		lines = append(lines, fmt.Sprintf("First invalid entry: %d%s %s", v.Damage.Seq, at, v.Damage.EntryID))
	case v.Entries == 0:
		lines = append(lines, "No entries.")
	default:
		lines = append(lines, fmt.Sprintf("%s entries verified, from entry %d on.", terminal.Grouped(v.Entries), v.First))
	}
	if v.First > 1 && v.Damage == nil {
		lines = append(lines, "Earlier entries have expired.")
	}
	if v.Older > 0 {
		lines = append(lines, fmt.Sprintf("%s entries were written by versions without a chain, and cannot be verified.", terminal.Grouped(v.Older)))
	}
	switch v.Noted {
	case accounts.Found:
		lines = append(lines, "The given head is in the chain.")
	case accounts.Expired:
		lines = append(lines, "The given head has expired. Use a newer one.")
	}
	if v.Head != "" {
		lines = append(lines, "Head: "+v.Head)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// invalid adds an error code to the error of a flag.
func invalid(err error) error {
	if errors.Is(err, accounts.ErrInvalid) {
		return fmt.Errorf("invalid: %w", err)
	}
	return err
}
