package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrNoDuckDB is returned by builds that have no DuckDB.
	ErrNoDuckDB = errors.New("no_duckdb: this build has no DuckDB; get one that has, or build it with cgo and a C++ compiler: `make build-duckdb`")
	// ErrQuery is returned for a query that cannot be run as it is. The message is DuckDB's, and points at the place.
	ErrQuery = errors.New("bad_query")
	// ErrTimeout is returned when a query takes longer than it may.
	ErrTimeout = errors.New("timeout")
	// ErrTooLarge is returned when a query needs more memory and disk than it may have.
	ErrTooLarge = errors.New("too_large")
)

// Options say what is asked, and what a query may take. Zero values are good defaults.
type Options struct {
	Events, Readings, DomainEvents []string // Parquet files
	From, To                       string   // days of the site, YYYY-MM-DD, both inclusive: events of others are left away; "": open

	MemoryMB int           // default 1,024
	Threads  int           // default: one for each processor
	TempDir  string        // where what does not fit in memory goes; "": nowhere, then such a query fails
	TempMB   int           // of TempDir; default 4,096
	Timeout  time.Duration // of a query; default 10 minutes
	SaveTo   string        // the one file that Save may write; "": none
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

// DB is an open DuckDB in memory with the views of a warehouse. It is for one query at a time.
type DB struct {
	o    Options
	db   *sql.DB
	conn *sql.Conn // settings and temporary views are a connection's
}

// Open makes the views and then takes from the database all that it could read and write beside their files. Errors:
// ErrNoDuckDB, those of reading the files.
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

// Close lets go of the database.
func (d *DB) Close() error {
	var err error
	if d.conn != nil {
		err = d.conn.Close()
	}
	return errors.Join(err, d.db.Close())
}

// prepare sets the bounds, makes the views and locks both.
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
	files := map[*dataset][]string{&ofEvents: o.Events, &ofReadings: o.Readings, &ofDomainEvents: o.DomainEvents}
	var readable []string
	for _, d := range definitions {
		statements = append(statements, "CREATE VIEW "+d.name+" AS "+o.within(d, strings.ReplaceAll(d.sql, "{files}", d.of.from(files[d.of]))))
	}
	for _, of := range files {
		for _, f := range of {
			readable = append(readable, quote(f))
		}
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
			return d.told(ctx, err)
		}
	}
	return nil
}

// within leaves events of other days away. Days of the site do not end with files, which are of days in UTC.
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

// answer is the view that the one query becomes, so that the database writes its values itself, each as it should be.
const answer = "onefold_answer"

// ask makes a view of a query, which has to be one that reads and nothing else. The context that it returns ends when the query
// has had its time.
func (d *DB) ask(ctx context.Context, query string) (context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.o.Timeout, ErrTimeout)
	query = strings.TrimRight(strings.TrimSpace(query), "; \t\r\n")
	err := checkReads(d.conn, query)
	if err == nil {
		_, err = d.conn.ExecContext(ctx, "CREATE OR REPLACE TEMP VIEW "+answer+" AS FROM (\n"+query+"\n)")
	}
	if err != nil {
		err = d.told(ctx, err)
		cancel()
		return nil, nil, err
	}
	return ctx, cancel, nil
}

// columns are those of the answer.
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

// Query gives the columns of a query's answer, once, and then its rows, at most a number of them unless that is 0: each value
// as the text that DuckDB writes; nil is NULL. What it gives is gone after the call. Errors: ErrQuery, ErrTimeout,
// ErrTooLarge, those of the functions that are given.
func (d *DB) Query(ctx context.Context, query string, most int, head func([]Column) error, row func([]*string) error) error {
	texts := "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM " + answer
	if most > 0 {
		texts += " LIMIT " + strconv.Itoa(most)
	}
	return d.each(ctx, query, head, texts, row)
}

// JSON gives the rows of a query's answer, each as a JSON object. Errors are those of Query.
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
		return d.told(ctx, err)
	}
	if err := head(columns); err != nil {
		return err
	}
	rows, err := d.conn.QueryContext(ctx, answer)
	if err != nil {
		return d.told(ctx, err)
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
			return d.told(ctx, err)
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return d.told(ctx, rows.Err())
}

// Save writes a query's answer to Options.SaveTo, as Parquet, and says how many rows it has. Errors are those of Query.
func (d *DB) Save(ctx context.Context, query string) (rows int64, err error) {
	ctx, cancel, err := d.ask(ctx, query)
	if err != nil {
		return 0, err
	}
	defer cancel()
	save := "COPY " + answer + " TO " + quote(d.o.SaveTo) + " (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
	if err := d.conn.QueryRowContext(ctx, save).Scan(&rows); err != nil {
		return 0, errors.Join(d.told(ctx, err), os.RemoveAll(d.o.SaveTo))
	}
	return rows, nil
}

// Explain runs a query and says how that was done and what took how long, for people. Errors are those of Query.
func (d *DB) Explain(ctx context.Context, query string) (plan string, err error) {
	ctx, cancel, err := d.ask(ctx, query)
	if err != nil {
		return "", err
	}
	defer cancel()
	var kind string
	err = d.conn.QueryRowContext(ctx, "EXPLAIN ANALYZE FROM "+answer).Scan(&kind, &plan)
	return plan, d.told(ctx, err)
}

// told says an error of DuckDB's as one of this package's.
func (d *DB) told(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(err.Error())
	switch {
	case errors.Is(context.Cause(ctx), ErrTimeout):
		return fmt.Errorf("%w: the query took longer than %s; ask for less, or give it more time with --timeout", ErrTimeout, d.o.Timeout)
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.HasPrefix(text, "Out of Memory Error"):
		return fmt.Errorf("%w: the query needs more than %d MB of memory and %d MB of disk; ask for less, or give it more with --memory and --temp: %s",
			ErrTooLarge, d.o.MemoryMB, d.o.TempMB, text)
	}
	return fmt.Errorf("%w: %s", ErrQuery, text)
}
