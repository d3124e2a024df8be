//go:build duckdb && cgo

package duck

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/duckdb/duckdb-go/v2"
)

// Built reports whether this build has DuckDB.
const Built = true

func open() (*sql.DB, error) {
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return nil, fmt.Errorf("duck: %w", err)
	}
	return sql.OpenDB(connector), nil
}

// errReads is returned for a statement that is not a single SELECT.
var errReads = errors.New("one SELECT statement is allowed, not several and none that writes or changes settings; " +
	"a PIVOT must list its values (ON x IN (…)), and --explain replaces EXPLAIN")

// isOutOfMemory reports whether a query needs more memory and disk space than it may use.
func isOutOfMemory(err error) bool {
	var told *duckdb.Error
	return errors.As(err, &told) && told.Type == duckdb.ErrorTypeOutOfMemory
}

// checkReads returns an error unless the query is a single statement that reads. The query is
// parsed and bound, but not run.
func checkReads(conn *sql.Conn, query string) error {
	return conn.Raw(func(driverConn any) error {
		c, ok := driverConn.(*duckdb.Conn)
		if !ok {
			return fmt.Errorf("duck: not a DuckDB connection: %T", driverConn)
		}
		prepared, err := c.Prepare(query)
		if err != nil {
			var told *duckdb.Error
			if errors.As(err, &told) {
				return told
			}
			return errReads // there is no statement, or more than one
		}
		defer prepared.Close()
		kind, err := prepared.(*duckdb.Stmt).StatementType()
		if err != nil {
			return err
		}
		if kind != duckdb.STATEMENT_TYPE_SELECT {
			return errReads
		}
		return nil
	})
}
