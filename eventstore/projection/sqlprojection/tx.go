package sqlprojection

import (
	"context"
	"database/sql"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/registry"
)

// Tx is the transaction in which an event is applied. It cannot be committed or rolled back by Apply,
// which must not execute statements that do so. In all statements, {name} stands for a table of the
// definition. Rows must be closed before Apply returns. A Tx is valid until then.
type Tx struct {
	ctx   context.Context // a Tx is the transaction of one call, as an http.Request is a request
	tx    *sql.Tx
	p     *Projection
	event *eventstore.FeedEvent
}

// Context returns the context of the transaction.
func (t *Tx) Context() context.Context { return t.ctx }

// Event returns the event that is applied.
func (t *Tx) Event() *eventstore.FeedEvent { return t.event }

// Exec executes a statement. Errors: those of the database.
func (t *Tx) Exec(query string, args ...any) (sql.Result, error) {
	return t.ExecContext(t.ctx, query, args...)
}

// Query executes a query. Errors: those of the database.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	return t.QueryContext(t.ctx, query, args...)
}

// QueryRow executes a query for at most one row.
func (t *Tx) QueryRow(query string, args ...any) *sql.Row {
	return t.QueryRowContext(t.ctx, query, args...)
}

// ExecContext is sql.Tx.ExecContext. With the next three methods, a Tx fits what generated code, such
// as that of sqlc, expects.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.tx.ExecContext(ctx, t.p.SQL(query), args...)
}

// QueryContext is sql.Tx.QueryContext.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.tx.QueryContext(ctx, t.p.SQL(query), args...)
}

// QueryRowContext is sql.Tx.QueryRowContext.
func (t *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return t.tx.QueryRowContext(ctx, t.p.SQL(query), args...)
}

// PrepareContext is sql.Tx.PrepareContext.
func (t *Tx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return t.tx.PrepareContext(ctx, t.p.SQL(query))
}

// Handlers returns an Apply that calls typed handlers, made with registry.Do. Registered events without
// a handler are ignored. The errors are those of registry.Fold.
func Handlers(r *registry.Registry, handlers ...registry.Handler[*Tx]) func(*Tx, *eventstore.FeedEvent) error {
	f := registry.Fold(r, 1, handlers...)
	return func(tx *Tx, e *eventstore.FeedEvent) error {
		_, err := f.Apply(tx, e.Event)
		return err
	}
}
