package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrNoDuckDB is returned by builds that have no DuckDB.
	ErrNoDuckDB = errors.New("no_duckdb: this build does not include DuckDB; use one that does, or build it with cgo and a C++ compiler: `make build-duckdb`")
	// ErrQuery is returned for a query that cannot be run as it is. The message is DuckDB's and
	// points at the place of the error.
	ErrQuery = errors.New("bad_query")
	// ErrTimeout is returned if a query takes longer than it may.
	ErrTimeout = errors.New("timeout")
	// ErrTooLarge is returned if a query needs more memory and disk space than it may use.
	ErrTooLarge = errors.New("too_large")
)

// Options configures the files of a query and its limits of resources. The zero value has good
// defaults.
type Options struct {
	Events, Readings, DomainEvents []string // Parquet files
	From, To                       string   // first and last day as YYYY-MM-DD, in the site's time zone; "" means no limit

	MemoryMB int           // default 1,024
	Threads  int           // default: one per processor
	TempDir  string        // directory for data that does not fit in memory; if "", such a query fails
	TempMB   int           // limit for TempDir; default 4,096
	Timeout  time.Duration // time limit of a query; default 10 minutes
	SaveTo   string        // the only file that Save may write; "" means none
}

const (
	defaultMemoryMB = 1024
	defaultTempMB   = 4096
	defaultTimeout  = 10 * time.Minute
)

func (o *Options) defaults() {
	if o.MemoryMB <= 0 {
		o.MemoryMB = defaultMemoryMB
	}
	if o.TempMB <= 0 {
		o.TempMB = defaultTempMB
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
}

// DB is an open in-memory DuckDB with the views of a warehouse. It runs one query at a time.
type DB struct {
	o    Options
	db   *sql.DB
	conn *sql.Conn // settings and temporary views belong to a connection
}

// Open creates the views and then removes the database's access to everything except their files.
// Errors: ErrNoDuckDB, those of reading the files.
func Open(ctx context.Context, o Options) (*DB, error) {
	o.defaults()
	db, err := open()
	if err != nil {
		return nil, err
	}
	d := &DB{o: o, db: db}
	if d.conn, err = db.Conn(ctx); err == nil {
		err = d.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("duck: open: %w", err), d.Close())
	}
	return d, nil
}

// Close closes the database.
func (d *DB) Close() error {
	var err error
	if d.conn != nil {
		err = d.conn.Close()
	}
	return errors.Join(err, d.db.Close())
}

// prepare sets the limits, creates the views and locks the configuration.
func (d *DB) prepare(ctx context.Context) error {
	o := &d.o
	temp := "SET temp_directory = ''"
	if o.TempDir != "" {
		temp = "SET temp_directory = " + quote(o.TempDir)
	}
	statements := []string{
		fmt.Sprintf("SET memory_limit = '%dMB'", o.MemoryMB),
		fmt.Sprintf("SET threads = %d", o.Threads),
		temp,
		fmt.Sprintf("SET max_temp_directory_size = '%dMB'", o.TempMB),
		"SET TimeZone = 'UTC'",
		"SET autoinstall_known_extensions = false",
		"SET autoload_known_extensions = false",
	}
	views, err := o.views()
	if err != nil {
		return err
	}
	statements = append(statements, views...)
	var readable []string
	for _, f := range slices.Concat(o.Events, o.Readings, o.DomainEvents) {
		readable = append(readable, quote(f))
	}
	if o.SaveTo != "" {
		readable = append(readable, quote(o.SaveTo))
	}
	statements = append(statements,
		"SET allowed_paths = ["+strings.Join(readable, ", ")+"]",
		"SET enable_external_access = false",
		"SET lock_configuration = true",
	)
	for _, s := range statements {
		if _, err := d.conn.ExecContext(ctx, s); err != nil {
			return d.convertError(ctx, err)
		}
	}
	return nil
}

// views returns the statements that create the views.
func (o *Options) views() (statements []string, err error) {
	from := map[*dataset]string{}
	for of, files := range map[*dataset][]string{&ofEvents: o.Events, &ofReadings: o.Readings, &ofDomainEvents: o.DomainEvents} {
		if from[of], err = of.from(files, o.Threads); err != nil {
			return nil, err
		}
	}
	for _, d := range definitions {
		statements = append(statements, "CREATE VIEW "+d.name+" AS "+o.within(d, strings.ReplaceAll(d.sql, "{files}", from[d.of])))
	}
	return statements, nil
}

// within leaves out events of other days. A day of the site does not end where a file ends, because
// files hold UTC days.
func (o *Options) within(d definition, view string) string {
	if d.name != definitions[0].name || o.From == "" && o.To == "" {
		return view
	}
	var bounds []string
	if o.From != "" {
		bounds = append(bounds, "day >= DATE "+quote(o.From))
	}
	if o.To != "" {
		bounds = append(bounds, "day <= DATE "+quote(o.To))
	}
	return "SELECT * FROM (\n" + view + "\n) WHERE " + strings.Join(bounds, " AND ")
}

// answer is the name of the view that the query becomes. Because of this view, the database itself
// converts the values to text, each in the format of its type.
const answer = "onefold_answer"

// ask creates a view of a query, which must only read. The returned context ends when the query's
// time is up.
func (d *DB) ask(ctx context.Context, query string) (context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.o.Timeout, ErrTimeout)
	query = strings.TrimRight(strings.TrimSpace(query), "; \t\r\n")
	err := checkReads(d.conn, query)
	if err == nil {
		_, err = d.conn.ExecContext(ctx, "CREATE OR REPLACE TEMP VIEW "+answer+" AS FROM (\n"+query+"\n)")
	}
	if err != nil {
		err = d.convertError(ctx, err)
		cancel()
		return nil, nil, err
	}
	return ctx, cancel, nil
}

// columns returns the columns of the answer.
func (d *DB) columns(ctx context.Context) (columns []Column, err error) {
	rows, err := d.conn.QueryContext(ctx, "SELECT column_name, column_type FROM (DESCRIBE "+answer+")")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c Column
		if err := rows.Scan(&c.Name, &c.Type); err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, rows.Err()
}

// Query calls head once with the columns of a query's answer, and then row with each of its rows,
// up to most rows; 0 means no limit. Each value is the text that DuckDB writes; nil is NULL. The
// slices are valid only during the call. Errors: ErrQuery, ErrTimeout, ErrTooLarge, those of head
// and row.
func (d *DB) Query(ctx context.Context, query string, most int, head func([]Column) error, row func([]*string) error) error {
	texts := "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM " + answer
	if most > 0 {
		texts += " LIMIT " + strconv.Itoa(most)
	}
	return d.each(ctx, query, head, texts, row)
}

// JSON calls row with each row of a query's answer as a JSON object. Errors: as Query.
func (d *DB) JSON(ctx context.Context, query string, row func(object string) error) error {
	return d.each(ctx, query, func([]Column) error { return nil }, "SELECT CAST(to_json(a) AS VARCHAR) FROM "+answer+" AS a",
		func(values []*string) error { return row(*values[0]) })
}

func (d *DB) each(ctx context.Context, query string, head func([]Column) error, answer string, row func([]*string) error) (err error) {
	ctx, cancel, err := d.ask(ctx, query)
	if err != nil {
		return err
	}
	defer cancel()
	columns, err := d.columns(ctx)
	if err != nil {
		return d.convertError(ctx, err)
	}
	if err := head(columns); err != nil {
		return err
	}
	rows, err := d.conn.QueryContext(ctx, answer)
	if err != nil {
		return d.convertError(ctx, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, places := make([]*string, len(names)), make([]any, len(names))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return d.convertError(ctx, err)
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return d.convertError(ctx, rows.Err())
}

// Save writes a query's answer to Options.SaveTo as Parquet and returns the number of rows. Errors:
// as Query.
func (d *DB) Save(ctx context.Context, query string) (rows int64, err error) {
	ctx, cancel, err := d.ask(ctx, query)
	if err != nil {
		return 0, err
	}
	defer cancel()
	save := "COPY " + answer + " TO " + quote(d.o.SaveTo) + " (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
	if err := d.conn.QueryRowContext(ctx, save).Scan(&rows); err != nil {
		return 0, errors.Join(d.convertError(ctx, err), os.RemoveAll(d.o.SaveTo))
	}
	return rows, nil
}

// Explain runs a query and returns a plan for people to read, which shows how the query was run and
// how long each step took. Errors: as Query.
func (d *DB) Explain(ctx context.Context, query string) (plan string, err error) {
	ctx, cancel, err := d.ask(ctx, query)
	if err != nil {
		return "", err
	}
	defer cancel()
	var kind string
	err = d.conn.QueryRowContext(ctx, "EXPLAIN ANALYZE FROM "+answer).Scan(&kind, &plan)
	return plan, d.convertError(ctx, err)
}

// convertError converts an error of DuckDB to one of this package.
func (d *DB) convertError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(err.Error())
	switch {
	case errors.Is(context.Cause(ctx), ErrTimeout):
		return fmt.Errorf("%w: the query took longer than %s; make it smaller or increase --timeout", ErrTimeout, d.o.Timeout)
	case ctx.Err() != nil:
		return ctx.Err()
	case isOutOfMemory(err):
		return fmt.Errorf("%w: the query needs more than %d MB of memory and %d MB of disk; make it smaller or increase --memory and --temp: %s",
			ErrTooLarge, d.o.MemoryMB, d.o.TempMB, text)
	}
	return fmt.Errorf("%w: %s", ErrQuery, text)
}
