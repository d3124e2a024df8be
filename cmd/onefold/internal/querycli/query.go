// Package querycli implements the command that queries the warehouse with SQL.
package querycli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/duck"
)

// Env is the environment of the command.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool
	Beside   string // default warehouse of the table
	// Objects opens an existing warehouse.
	Objects func(ctx context.Context, url string) (warehouse.Objects, error)
}

// Query queries the warehouse with SQL.
type Query struct {
	SQL  string `arg:"" optional:"" help:"Query, one SELECT statement (default: - for standard input)."`
	File string `short:"f" help:"File that holds the query." type:"existingfile"`

	Warehouse string   `help:"Warehouse: a directory or s3://BUCKET/PREFIX (default: the directory of --data with .warehouse appended)." env:"ONEFOLD_WAREHOUSE"`
	Site      []string `help:"Site whose events to query; files of other sites are not read. Repeat or separate by commas."`
	Fleet     []string `help:"Fleet whose readings to query. Repeat or separate by commas."`
	Type      []string `help:"Aggregate type whose domain events to query. Repeat or separate by commas."`
	From      string   `help:"First day, YYYY-MM-DD: days of web events are in the site's time zone, all others in UTC." placeholder:"DAY"`
	To        string   `help:"Last day, inclusive." placeholder:"DAY"`

	Format string `help:"Output format: table for people; csv, json or parquet for programs." enum:"table,csv,json,parquet" default:"table"`
	Out    string `help:"Output file (default: standard output). Required for parquet." short:"o" type:"path"`
	Limit  int    `help:"Maximum number of rows shown in a table." default:"1000"`

	Schema  bool `help:"List the views and their columns, with descriptions."`
	Explain bool `help:"Run the query, and show its plan with the time of each step."`

	Memory  int           `help:"Maximum memory of the query, in MB." default:"1024"`
	Threads int           `help:"Maximum number of threads (default: one per processor)."`
	Temp    int           `help:"Maximum disk space for intermediate results that do not fit in memory, in MB." default:"4096"`
	Timeout time.Duration `help:"Maximum duration of the query." default:"10m"`
	Cache   int           `help:"Maximum disk space for cached files of a remote warehouse, in MB." default:"10240"`
}

// maxSQL is the maximum length of a query in bytes.
const maxSQL = 1 << 20

// Validate checks the flags. Kong calls it.
func (c *Query) Validate() error {
	for flag, day := range map[string]string{"--from": c.From, "--to": c.To} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return fmt.Errorf("%s: cannot parse day %q: write it like 2026-05-12", flag, day)
		}
	}
	switch {
	case c.From != "" && c.To != "" && c.From > c.To:
		return fmt.Errorf("--from %s is after --to %s", c.From, c.To)
	case c.Limit < 1 || c.Limit > maxLimit:
		return fmt.Errorf("--limit must be 1 to %d; other formats have no limit", maxLimit)
	case c.Memory < 64 || c.Temp < 0 || c.Threads < 0 || c.Cache < 0 || c.Timeout <= 0:
		return errors.New("--memory must be 64 or more; --temp, --threads and --cache must not be negative; --timeout must be above 0")
	case c.Format == "parquet" && c.Out == "":
		return errors.New("--format parquet needs a file: give --out FILE")
	}
	return nil
}

// Run runs the query and prints the result.
func (c *Query) Run(ctx context.Context, e *Env) error {
	if e.JSON && c.Format == "table" {
		c.Format = "json"
	}
	if c.Schema {
		return printSchema(e)
	}
	if !duck.Built {
		return duck.ErrNoDuckDB
	}
	query, err := c.query(e.In)
	if err != nil {
		return err
	}
	w, err := c.open(ctx, e)
	if err != nil {
		return err
	}
	defer w.close()
	for attempt := 0; ; attempt++ {
		err := c.ask(ctx, e, w, query)
		if !errors.Is(err, errMoved) || attempt == 5 {
			return err
		}
	}
}

// query returns the text of the query.
func (c *Query) query(in io.Reader) (string, error) {
	switch {
	case c.File != "" && c.SQL != "":
		return "", errors.New("bad_query: give either a query or --file, not both")
	case c.File != "":
		f, err := os.Open(c.File)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return readSQL(f)
	case c.SQL == "" || c.SQL == "-":
		return readSQL(in)
	}
	return c.SQL, nil
}

func readSQL(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSQL+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the query: %w", err)
	case len(b) > maxSQL:
		return "", fmt.Errorf("bad_query: the query has more than %d bytes", maxSQL)
	case strings.TrimSpace(string(b)) == "":
		return "", errors.New(`bad_query: the query is empty; try: onefold query "SELECT day, count(*) AS visits FROM sessions GROUP BY day ORDER BY day", or onefold query --schema`)
	}
	return string(b), nil
}

// errMoved is returned if files were replaced while the query read them. Nothing has been written
// then.
var errMoved = errors.New("moved: files of the warehouse were replaced during the query; run it again")

// ask runs the query on the current files.
func (c *Query) ask(ctx context.Context, e *Env, w *place, query string) (err error) {
	o := duck.Options{From: c.From, To: c.To, MemoryMB: c.Memory, Threads: c.Threads, TempMB: c.Temp, Timeout: c.Timeout}
	if o.Events, o.Readings, o.DomainEvents, err = w.files(ctx, c); err != nil {
		return err
	}
	if o.TempDir, err = os.MkdirTemp("", "onefold-query-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.TempDir)) }()
	if o.SaveTo, err = c.target(); err != nil {
		return err
	}
	if o.SaveTo != "" {
		defer func() { err = errors.Join(err, os.RemoveAll(o.SaveTo)) }()
	}
	out := &output{w: e.Out}
	db, err := duck.Open(ctx, o)
	if err == nil {
		err = errors.Join(c.write(ctx, e, db, query, o.SaveTo, out), db.Close())
	}
	if (errors.Is(err, duck.ErrQuery) || errors.Is(err, fs.ErrNotExist)) && !out.begun && missing(o.Events, o.Readings, o.DomainEvents) {
		return errMoved
	}
	if err == nil && o.SaveTo != "" {
		return os.Rename(o.SaveTo, c.Out)
	}
	return err
}

// target creates the temporary file of the output, which is renamed when complete. It returns ""
// for standard output.
func (c *Query) target() (string, error) {
	if c.Out == "" {
		return "", nil
	}
	f, err := os.CreateTemp(filepath.Dir(c.Out), ".onefold-query-*")
	if err != nil {
		return "", fmt.Errorf("no_file: %w", err)
	}
	return f.Name(), f.Close()
}

func missing(lists ...[]string) bool {
	for _, files := range lists {
		for _, f := range files {
			if _, err := os.Stat(f); errors.Is(err, os.ErrNotExist) {
				return true
			}
		}
	}
	return false
}

// write writes the result.
func (c *Query) write(ctx context.Context, e *Env, db *duck.DB, query, file string, out *output) (err error) {
	if c.Format == "parquet" && !c.Explain {
		n, err := db.Save(ctx, query)
		if err == nil {
			_, err = fmt.Fprintf(e.Err, "%s in %s\n", terminal.Count(n, "row"), c.Out)
		}
		return err
	}
	if file != "" {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out.w = f
	}
	switch {
	case c.Explain:
		plan, err := db.Explain(ctx, query)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, plan)
		return err
	case c.Format == "csv":
		return writeCSV(ctx, db, query, out)
	case c.Format == "json":
		return writeJSON(ctx, db, query, out)
	}
	return writeTable(ctx, db, query, c.Limit, terminal.Width(out.w), out)
}

// output records whether anything was written.
type output struct {
	w     io.Writer
	begun bool
}

func (o *output) Write(b []byte) (int, error) {
	o.begun = true
	return o.w.Write(b)
}
