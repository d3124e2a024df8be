// Package sqlprojection maintains read models in a SQL database from the events of all aggregates. The
// effects of events and the feed position are in one transaction, so each event takes effect exactly
// once, whatever crashes and however many processes run the projection.
//
// It uses database/sql and imports no driver. The database must have transactional DDL, parameters of
// the form $1, and UPDATE … RETURNING: PostgreSQL, or SQLite from 3.35.
//
// Start with New, then call Projection.Run. Readers query the views that carry the names of
// Definition.Tables.
package sqlprojection
