package warehousecli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/athena"
	"github.com/onefold/onefold/warehouse/export"
)

type statusCommand struct{ Where }

// dataset describes a dataset of a warehouse.
type dataset struct {
	Dataset warehouse.Dataset `json:"dataset"`
	Keys    int               `json:"keys"` // sites, fleets or types
	Files   int               `json:"files"`
	Rows    int64             `json:"rows"`
	Facts   int64             `json:"facts"`
	Bytes   int64             `json:"bytes"`
	First   string            `json:"first,omitempty"` // day
	Last    string            `json:"last,omitempty"`
}

func datasets(w *warehouse.Warehouse) []dataset {
	var all []dataset
	for _, d := range warehouse.Datasets() {
		one := dataset{Dataset: d}
		last := ""
		for _, f := range w.Files(d) {
			one.Files++
			one.Rows += f.Rows
			one.Facts += f.Facts
			one.Bytes += f.Bytes
			if f.Partition.Key != last || one.Keys == 0 {
				one.Keys++
				last = f.Partition.Key
			}
			if one.First == "" || f.Partition.Date < one.First {
				one.First = f.Partition.Date
			}
			one.Last = max(one.Last, f.Partition.Date)
		}
		all = append(all, one)
	}
	return all
}

// Run prints the state of the warehouse.
func (c *statusCommand) Run(ctx context.Context, env *cmdenv.Env) error {
	w, err := c.open(ctx, env, true)
	if err != nil {
		return err
	}
	status, has := w.Status(), datasets(w)
	if env.JSON {
		return terminal.JSON(env.Out, struct {
			warehouse.Status
			Datasets []dataset `json:"datasets"`
		}{status, has})
	}
	tab := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "dataset\tkeys\tfiles\tfacts\trows\tsize\tfirst\tlast\t")
	for _, d := range has {
		fmt.Fprintf(tab, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t\n", d.Dataset, d.Keys, d.Files, d.Facts, d.Rows, size(d.Bytes), d.First, d.Last)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	return printProgress(env.Out, status)
}

func printProgress(out io.Writer, s warehouse.Status) error {
	open, latest := 0, time.Time{}
	for _, p := range s.Positions {
		if !p.Done {
			open++
		}
		if p.At.After(latest) {
			latest = p.At
		}
	}
	fmt.Fprintf(out, "\ncommit %d, %s; %s of the stream open", s.Version, s.At.Local().Format(time.DateTime), terminal.Count(open, "shard"))
	if !latest.IsZero() {
		fmt.Fprintf(out, ", read up to changes of %s", latest.Local().Format(time.DateTime))
	}
	fmt.Fprintln(out)
	if s.Repair != nil {
		fmt.Fprintf(out, "comparing with the table since %s (%s): %s %s\n", s.Repair.Since.Local().Format(time.DateTime), s.Repair.Why, s.Repair.Dataset, terminal.Printable(s.Repair.Key))
	}
	if s.Skipped > 0 {
		fmt.Fprintf(out, "%s could not be read; see the log of the exporter\n", terminal.Count(s.Skipped, "change"))
	}
	if n := len(s.Missed); n > 0 {
		fmt.Fprintf(out, "changes expired before they were read and were recovered from the table; last on %s\n", s.Missed[n-1].At.Local().Format(time.DateTime))
	}
	return nil
}

type compactCommand struct {
	Where
	Target int64 `help:"Target size of a file, in MB." default:"128"`
}

// Validate checks the flags. Kong calls it.
func (c *compactCommand) Validate() error {
	if c.Target < 1 || c.Target > 4096 {
		return errors.New("invalid: --target must be 1 to 4096")
	}
	return nil
}

// Run merges small files.
func (c *compactCommand) Run(ctx context.Context, env *cmdenv.Env) error {
	w, err := c.open(ctx, env, true)
	if err != nil {
		return err
	}
	done, err := w.Compact(ctx, warehouse.Compaction{Target: c.Target << 20})
	if err != nil {
		return err
	}
	if env.JSON {
		return terminal.JSON(env.Out, done)
	}
	_, err = fmt.Fprintf(env.Out, "Merged %s into %d.\n", terminal.Count(done.Joined, "file"), done.Made)
	return err
}

type checkCommand struct{ Where }

// ErrDifferences is returned if the warehouse differs from the table.
var ErrDifferences = errors.New("differences: the warehouse and the table differ")

// damaged is an error of a damaged file. It matches ErrDifferences.
type damaged struct{ err error }

func (d *damaged) Error() string {
	return d.err.Error() + "; restore the named files from a backup or an older version in the bucket, or start a new warehouse in an empty location, without the facts that have expired in the table"
}

func (d *damaged) Unwrap() []error { return []error{ErrDifferences, d.err} }

// Run compares the warehouse with the table.
func (c *checkCommand) Run(ctx context.Context, env *cmdenv.Env) error {
	w, err := c.open(ctx, env, true)
	if err != nil {
		return err
	}
	var found []export.Comparison
	err = env.Open(ctx, func(s *cmdenv.Store) error {
		return settled(ctx, s, func(ctx context.Context) (err error) {
			found, err = exporter(w, s, export.Options{Logger: env.Logger, NoCompact: true}).Check(ctx)
			return err
		})
	})
	if errors.Is(err, warehouse.ErrDamaged) || errors.Is(err, warehouse.ErrNotFound) {
		return &damaged{err}
	}
	if err != nil {
		return err
	}
	differs := slices.ContainsFunc(found, func(c export.Comparison) bool { return !c.OK() })
	if err := c.print(env, found); err != nil {
		return err
	}
	if differs {
		return ErrDifferences
	}
	return nil
}

func (c *checkCommand) print(env *cmdenv.Env, found []export.Comparison) error {
	if env.JSON {
		return terminal.JSON(env.Out, found)
	}
	tab := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "dataset\tkey\tin the table\tin both\tmissing\textra\texpired\t")
	for _, f := range found {
		fmt.Fprintf(tab, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t\n", f.Dataset, terminal.Printable(f.Key), f.Table, f.Both, f.Missing, f.Extra, f.Expired)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for _, f := range found {
		if len(f.Dates) > 0 {
			fmt.Fprintf(env.Out, "%s of %s differ on %s\n", f.Dataset, terminal.Printable(f.Key), strings.Join(f.Dates, ", "))
		}
	}
	return nil
}

type ddlCommand struct {
	Where
	Athena   bool   `help:"Write SQL statements for Athena." xor:"for" required:""`
	Glue     bool   `help:"Write a CloudFormation template, in JSON, of tables in the Glue catalog." xor:"for" required:""`
	Database string `help:"Database name." default:"onefold"`
	Location string `help:"S3 location of the warehouse (default: --to)." placeholder:"s3://BUCKET/PREFIX"`
}

// Run writes table definitions. They include the sites, fleets and types of the warehouse, if it
// can be read.
func (c *ddlCommand) Run(ctx context.Context, env *cmdenv.Env) error {
	t := athena.Tables{Location: c.Location, Database: c.Database, Keys: map[warehouse.Dataset][]string{}}
	if t.Location == "" {
		t.Location, _, _ = strings.Cut(c.To, "?")
	}
	if !strings.Contains(t.Location, "://") {
		return errors.New("bad_location: a warehouse in a directory has no S3 location; give --location s3://BUCKET/PREFIX")
	}
	if w, err := c.open(ctx, env, true); err == nil {
		for _, p := range w.Partitions() {
			if key := p.PathKey(); !slices.Contains(t.Keys[p.Dataset], key) {
				t.Keys[p.Dataset] = append(t.Keys[p.Dataset], key)
			}
		}
	} else {
		fmt.Fprintf(env.Err, "cannot read the warehouse, so queries must name a site, fleet or type: %v\n", err)
	}
	if c.Glue {
		b, err := t.Glue()
		if err == nil {
			_, err = fmt.Fprintf(env.Out, "%s\n", b)
		}
		return err
	}
	sql, err := t.SQL()
	if err == nil {
		_, err = io.WriteString(env.Out, sql)
	}
	return err
}
