package sqlprojection_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
)

// database is an empty database that a test opens several times, as different processes do.
type database struct {
	connect func() (driver.Connector, error)
	name    string
}

// open opens the database, with faults if they are not nil.
func (d database) open(t testing.TB, f *faults) *sql.DB {
	t.Helper()
	c, err := d.connect()
	if err != nil {
		t.Fatal(err)
	}
	if f != nil {
		c = faultyConnector{c, f}
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// onEach runs a test on each database. empty returns an empty database.
func onEach(t *testing.T, test func(t *testing.T, empty func() database)) {
	t.Run("sqlite", func(t *testing.T) { test(t, func() database { return newSQLite(t.TempDir()) }) })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		needPostgres(t) // here, because a subtest cannot skip the test that it is part of
		test(t, func() database { return newPostgres(t) })
	})
}

func newSQLite(dir string) database {
	name := filepath.Join(dir, "views.db")
	dsn := "file:" + name + "?" + url.Values{"_pragma": {"busy_timeout(60000)", "journal_mode(WAL)", "synchronous(OFF)"}}.Encode()
	return database{name: "sqlite", connect: func() (driver.Connector, error) { return sqliteConnector(dsn), nil }}
}

type sqliteConnector string

func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	return (&sqlite.Driver{}).Open(string(c))
}
func (c sqliteConnector) Driver() driver.Driver { return &sqlite.Driver{} }

var schemas atomic.Int64

// needPostgres starts the server of the tests, or skips the test if it cannot be started.
func needPostgres(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("the time to start a PostgreSQL server is missing: leave -short out")
	}
	if err := server.start(); errors.Is(err, errNoPostgres) {
		t.Skip("PostgreSQL is missing: run `make postgres`, or install Debian's package postgresql")
	} else if err != nil {
		t.Fatal(err)
	}
}

// newPostgres returns a schema of its own on the server of the tests.
func newPostgres(t testing.TB) database {
	t.Helper()
	needPostgres(t)
	schema := "test" + strconv.FormatInt(schemas.Add(1), 10)
	admin := database{connect: server.connector("public")}.open(t, nil)
	if _, err := admin.Exec("CREATE SCHEMA " + schema); err != nil {
		t.Fatal(err)
	}
	_ = admin.Close()
	return database{name: "postgres", connect: server.connector(schema)}
}

// server is a PostgreSQL server that listens to a socket in a temporary directory.
var server postgres

var errNoPostgres = errors.New("no PostgreSQL")

type postgres struct {
	once   sync.Once
	err    error
	dir    string
	stdin  io.Closer // the server ends when this is closed, also because the test was killed
	cmd    *exec.Cmd
	output bytes.Buffer
}

func TestMain(m *testing.M) {
	code := m.Run()
	server.stop()
	os.Exit(code)
}

func (p *postgres) start() error {
	p.once.Do(func() { p.err = p.run() })
	return p.err
}

func (p *postgres) run() (err error) {
	bin, err := findPostgres()
	if err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp("", "onefold-pg"); err != nil {
		return err
	}
	as, err := p.ownDir()
	if err != nil {
		return err
	}
	data := filepath.Join(p.dir, "data")
	init := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "onefold", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	init.Dir, init.SysProcAttr = p.dir, as
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	p.cmd = exec.Command("sh", "-c", `"$@" </dev/null & read -r _; kill -INT $!; wait $!`, "sh", filepath.Join(bin, "postgres"), "-D", data, "-k", p.dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200")
	p.cmd.Dir, p.cmd.SysProcAttr, p.cmd.Stdout, p.cmd.Stderr = p.dir, as, &p.output, &p.output
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	db, err := p.connector("public")()
	if err != nil {
		return err
	}
	ping := sql.OpenDB(db)
	defer ping.Close()
	for range 1500 { // 30 s
		if err = ping.Ping(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("the PostgreSQL server does not answer: %w", err)
}

func findPostgres() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err == nil && len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errNoPostgres
	}
	return filepath.Dir(path), nil
}

// ownDir gives the directory to the user who runs the server, which refuses to be root.
func (p *postgres) ownDir() (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, os.Chown(p.dir, int(uid), int(gid))
}

func (p *postgres) connector(schema string) func() (driver.Connector, error) {
	return func() (driver.Connector, error) {
		c, err := pgx.ParseConfig("user=onefold dbname=postgres sslmode=disable host=" + p.dir + " search_path=" + schema)
		if err != nil {
			return nil, err
		}
		return stdlib.GetConnector(*c), nil
	}
}

func (p *postgres) stop() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.stdin.Close()
		_ = p.cmd.Wait()
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// faults crash a process at a statement: neither this one, unless after is set, nor a later one is
// executed, and its connections are closed. Statements are counted down from left.
type faults struct {
	mu      sync.Mutex
	left    int
	after   bool
	crashed bool
	begins  func() // called before each transaction
}

var errCrash = errors.New("the process has crashed")

func (f *faults) at(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return errCrash
	}
	if f.left--; f.left == 0 {
		f.crashed = true
		if f.after {
			_ = do()
		}
		return errCrash
	}
	return do()
}

func (f *faults) isCrashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed
}

type faultyConnector struct {
	driver.Connector
	f *faults
}

func (c faultyConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.f.isCrashed() {
		return nil, errCrash
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &faultyConn{conn, c.f}, nil
}

type faultyConn struct {
	driver.Conn
	f *faults
}

func (c *faultyConn) IsValid() bool { return !c.f.isCrashed() }

func (c *faultyConn) BeginTx(ctx context.Context, o driver.TxOptions) (tx driver.Tx, err error) {
	if c.f.begins != nil {
		c.f.begins()
	}
	err = c.f.at(func() (err error) { tx, err = c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o); return err })
	return faultyTx{tx, c.f}, err
}

func (c *faultyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (r driver.Result, err error) {
	err = c.f.at(func() (err error) { r, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args); return err })
	return r, err
}

func (c *faultyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (r driver.Rows, err error) {
	err = c.f.at(func() (err error) { r, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args); return err })
	if err != nil && r != nil {
		_ = r.Close()
	}
	return r, err
}

type faultyTx struct {
	driver.Tx
	f *faults
}

func (t faultyTx) Commit() error   { return t.f.at(t.Tx.Commit) }
func (t faultyTx) Rollback() error { return t.f.at(t.Tx.Rollback) }
