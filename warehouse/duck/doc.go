// Package duck asks questions in SQL of the warehouse's Parquet files, by an embedded DuckDB that may read these files and
// do nothing else: neither other files nor the network, and no more memory, threads and disk than it was given. A query may
// so come from whom the table would not be shown to in any other way than by what is in the files.
//
// DuckDB is C++ and large, so it is left out unless the program is built with cgo and the tag duckdb; this package is its
// only importer. What the views are and say of themselves (Views) is there in every build. It is used by the command line.
package duck
