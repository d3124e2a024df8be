// Package duck answers SQL queries over the warehouse's Parquet files, with an embedded DuckDB. The
// DuckDB may read these files and nothing else: no other files and no network. It gets limited
// memory, threads and disk space. So a query may come from someone who has no other access than to
// the contents of these files.
//
// DuckDB is large and written in C++, so it is left out unless the program is built with cgo and
// the tag duckdb. Only this package imports it. The descriptions of the views (Views) are part of
// every build. The command line uses this package.
package duck
