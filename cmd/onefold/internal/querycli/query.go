// Package querycli implements the command that queries the warehouse with SQL.
package querycli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
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
	SQL  string `arg:"" optional:"" help:"The query: one SELECT. Without one, or with -, it is read from standard input."`
	File string `short:"f" help:"Read the query from a file." type:"existingfile"`

	Warehouse string   `help:"Where the warehouse is: a directory, or s3://BUCKET/PREFIX. Default: beside the directory of --data." env:"ONEFOLD_WAREHOUSE"`
	Site      []string `help:"Only events of these sites: no other files are read."`
	Fleet     []string `help:"Only readings of these fleets."`
	Type      []string `help:"Only domain events of these types."`
	From      string   `help:"Only from this day, YYYY-MM-DD: of events a day of their site, of all else in UTC." placeholder:"DAY"`
	To        string   `help:"Only to this day, inclusive." placeholder:"DAY"`

	Format string `help:"table, for people; csv, json or parquet for all else." enum:"table,csv,json,parquet" default:"table"`
	Out    string `help:"File to write; by default, standard output. Parquet wants one." short:"o" type:"path"`
	Limit  int    `help:"Rows of a table that are shown at most." default:"1000"`

	Schema  bool `help:"List what can be asked: views, their columns and what these mean."`
	Explain bool `help:"Run the query, and show how that is done and what of it takes how long."`

	Memory  int           `help:"Memory that the query may take, MB." default:"1024"`
	Threads int           `help:"Threads that the query may use. Default: one a processor."`
	Temp    int           `help:"Disk that it may take for what does not fit in memory, MB." default:"4096"`
	Timeout time.Duration `help:"How long it may take." default:"10m"`
	Cache   int           `help:"Disk for copies of files of a warehouse that is not on this machine, MB." default:"10240"`
}

// maxSQL is the maximum length of a query in bytes.
const maxSQL = 1 << 20

// Validate checks the flags. Kong calls it.
func (c *Query) Validate() error {
	for flag, day := range map[string]string{"--from": c.From, "--to": c.To} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return fmt.Errorf("%s: %q is not a day: write it like 2026-05-12", flag, day)
		}
	}
	switch {
	case c.From != "" && c.To != "" && c.From > c.To:
		return fmt.Errorf("--from %s is after --to %s", c.From, c.To)
	case c.Limit < 1 || c.Limit > maxLimit:
		return fmt.Errorf("--limit: choose 1 to %d; other formats have no limit", maxLimit)
	case c.Memory < 64 || c.Temp < 0 || c.Threads < 0 || c.Cache < 0 || c.Timeout <= 0:
		return errors.New("--memory wants 64 MB or more; --temp, --threads and --cache no negative number, --timeout some time")
	case c.Format == "parquet" && c.Out == "":
		return errors.New("--format parquet wants a file: --out FILE")
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
		return "", errors.New("bad_query: there is a query and a --file: give one of them")
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
		return "", fmt.Errorf("bad_query: it has more than %d bytes", maxSQL)
	case strings.TrimSpace(string(b)) == "":
		return "", errors.New(`bad_query: there is none; try: onefold query "SELECT day, count(*) AS visits FROM sessions GROUP BY day ORDER BY day", or onefold query --schema`)
	}
	return string(b), nil
}

// errMoved is returned if files were replaced while the query read them. Nothing has been written
// then.
var errMoved = errors.New("moved: files of the warehouse are replaced all the time; ask again")

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
	if errors.Is(err, duck.ErrQuery) && !out.begun && missing(o.Events, o.Readings, o.DomainEvents) {
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
	return writeTable(ctx, db, query, c.Limit, width(out.w), out)
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
