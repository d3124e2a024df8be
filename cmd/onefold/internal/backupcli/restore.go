package backupcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/backups"
	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/engine"
)

// timeForm is the layout of printed times, which are in UTC.
const timeForm = "2006-01-02 15:04:05 UTC"

type restoreCommand struct{ source }

// Help describes a restore. Kong prints it.
func (c *restoreCommand) Help() string {
	return `Creates the directory of --data, and its companion files, from a backup of onefold backup. Nothing is overwritten. Either everything is
restored, or nothing.`
}

// Run restores the backup to the directory of --data.
func (c *restoreCommand) Run(ctx context.Context, env *Env) error {
	if err := env.Embedded(); err != nil {
		return err
	}
	r, err := c.restore(ctx, env, env.Data)
	if err != nil {
		return err
	}
	if env.JSON {
		return terminal.JSON(env.Out, r.BackupManifest)
	}
	_, err = fmt.Fprintf(env.Out, "%s: %s as of %s, from %s; companion files: %d\n", env.Data, terminal.Count(len(r.Tables), "table"), r.Taken.Format(timeForm), r.name, r.files)
	return err
}

type verifyCommand struct {
	source
	Dir string `help:"Directory to restore to and keep, empty or absent (default: a temporary directory, removed afterwards)." type:"path" placeholder:"DIR"`
}

// Help describes a verification. Kong prints it.
func (c *verifyCommand) Help() string {
	return `Restores a backup, checks every row as onefold dynamodb check does, and prints inconsistencies. The disk needs space for the whole
table; TMPDIR sets the location of temporary directories. The exit code is 3 if there is no backup or the backup is damaged.`
}

// verified is the JSON output of verify.
type verified struct {
	Name     string           `json:"name"`
	Bytes    int64            `json:"bytes,omitempty"` // of the backup file
	Taken    time.Time        `json:"taken"`
	Newest   time.Time        `json:"newest,omitzero"` // newest change in the backup; zero: none in the 24 hours before it was made
	Tables   int              `json:"tables"`
	Items    int64            `json:"items"`
	Restored int64            `json:"restoredBytes"` // size of all files of the table
	Seconds  float64          `json:"seconds"`
	Findings []engine.Finding `json:"findings"`
}

// Run restores the backup to a directory and checks it. It returns an error that matches ErrWrong
// if there is no backup or if the check has findings.
func (c *verifyCommand) Run(ctx context.Context, env *Env) (err error) {
	began, dir := time.Now(), c.Dir
	if dir == "" {
		temp, err := os.MkdirTemp("", "onefold-verify-")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
		dir = filepath.Join(temp, "data")
	}
	r, err := c.restore(ctx, env, dir)
	if errors.Is(err, wholebackup.ErrForeign) || errors.Is(err, backups.ErrNone) {
		return wrong{err}
	}
	if err != nil {
		return err
	}
	v := verified{Name: r.name, Bytes: max(0, r.size), Taken: r.Taken, Tables: len(r.Tables), Restored: r.Bytes(), Findings: []engine.Finding{}}
	sum, err := check(ctx, env, dir, func(f engine.Finding) { v.Findings = append(v.Findings, f) })
	if err != nil {
		return err
	}
	v.Items, v.Newest, v.Seconds = sum.Items, sum.Newest, time.Since(began).Seconds()
	if err := v.print(env); err != nil {
		return err
	}
	if sum.Findings > 0 {
		return wrong{fmt.Errorf("damaged: %s in %s; the table was already damaged when it was backed up: check it with `onefold dynamodb check`, and keep older backups", terminal.Count(sum.Findings, "finding"), r.name)}
	}
	return nil
}

// check checks a restored database.
func check(ctx context.Context, env *Env, dir string, report func(engine.Finding)) (sum engine.CheckSummary, err error) {
	o := env.Engine
	o.TTLInterval = -1 // items must not expire during the check
	db, err := engine.Open(dir, o)
	if err != nil {
		return sum, err
	}
	sum, err = db.Check(ctx, report)
	return sum, errors.Join(err, db.Close())
}

func (v *verified) print(env *Env) error {
	if env.JSON {
		return terminal.JSON(env.Out, v)
	}
	for _, f := range v.Findings {
		if _, err := fmt.Fprintln(env.Out, f.String()); err != nil {
			return err
		}
	}
	newest := "none in the 24 hours before the backup"
	if !v.Newest.IsZero() {
		newest = v.Newest.Format(timeForm)
	}
	_, err := fmt.Fprintf(env.Out, "%s: %s, %s, %s bytes restored\ncreated: %s\nnewest change: %s\nrestored and checked in %s\n", v.Name,
		terminal.Count(v.Tables, "table"), terminal.Count(v.Items, "item"), terminal.Grouped(v.Restored), v.Taken.Format(timeForm), newest,
		time.Duration(v.Seconds*float64(time.Second)).Round(time.Millisecond))
	return err
}
