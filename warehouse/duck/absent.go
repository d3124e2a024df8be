//go:build !duckdb || !cgo

package duck

import "database/sql"

// Built reports whether this build has DuckDB.
const Built = false

func open() (*sql.DB, error) { return nil, ErrNoDuckDB }

func isOutOfMemory(error) bool { return false }

func checkReads(*sql.Conn, string) error { return ErrNoDuckDB }
