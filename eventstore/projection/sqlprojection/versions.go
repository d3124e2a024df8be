package sqlprojection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The tables of the package. A row of onefold_projections is a version of a projection. Its position is
// changed only in the transaction that has the effects, which begins by locking the row.
const schema = `
CREATE TABLE IF NOT EXISTS onefold_projections (
	name text NOT NULL, version bigint NOT NULL, position bigint NOT NULL, parked bigint NOT NULL, active smallint NOT NULL,
	tables text NOT NULL, digest text NOT NULL, updated_at text NOT NULL, PRIMARY KEY (name, version));
CREATE TABLE IF NOT EXISTS onefold_parked (
	name text NOT NULL, version bigint NOT NULL, aggregate_type text NOT NULL, aggregate_id text NOT NULL, seq bigint NOT NULL,
	position bigint NOT NULL, event_id text NOT NULL, event_type text NOT NULL, reason text NOT NULL, attempts bigint NOT NULL,
	parked_at text NOT NULL, PRIMARY KEY (name, version, aggregate_type, aggregate_id, seq));`

// Status is the progress of a version.
type Status struct {
	Version   int
	Position  int64     // feed position up to which events are applied or parked
	Parked    int       // parked events
	Active    bool      // the views show it
	UpdatedAt time.Time // when events were last applied, or the version was created
}

// startTries is how often Start tries. Processes that start at the same time may both create a table.
const startTries = 3

// Start creates the tables of this version, unless they exist. Errors: ErrDefinition if the tables or
// the schema of an existing version changed; those of the database.
func (p *Projection) Start(ctx context.Context) (err error) {
	for range startTries {
		// The first transaction writes nothing if the tables exist. In SQLite, a transaction that reads before
		// it writes fails if another one wrote in between.
		err = p.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, schema)
			return err
		})
		if err == nil {
			err = p.inTx(ctx, p.create)
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrDefinition) {
			break
		}
	}
	return p.wrap("start", err)
}

func (p *Projection) create(ctx context.Context, tx *sql.Tx) error {
	made, err := tx.ExecContext(ctx, `INSERT INTO onefold_projections (name, version, position, parked, active, tables, digest, updated_at)
		VALUES ($1, $2, 0, 0, 0, $3, $4, $5) ON CONFLICT DO NOTHING`, p.def.Name, p.def.Version, strings.Join(p.def.Tables, " "), p.digest, p.now())
	if err != nil {
		return err
	}
	if n, err := made.RowsAffected(); err != nil || n == 1 {
		if err == nil {
			_, err = tx.ExecContext(ctx, p.SQL(p.def.Schema))
		}
		return err
	}
	var digest string
	if err := p.row(ctx, tx, "digest").Scan(&digest); err != nil {
		return err
	}
	if digest != p.digest {
		return fmt.Errorf("%w: %s version %d has another schema in the database; increase Version", ErrDefinition, p.def.Name, p.def.Version)
	}
	return nil
}

// row selects columns of this version's row.
func (p *Projection) row(ctx context.Context, in interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, columns string) *sql.Row {
	return in.QueryRowContext(ctx, "SELECT "+columns+" FROM onefold_projections WHERE name = $1 AND version = $2", p.def.Name, p.def.Version)
}

// Versions returns the versions in the database, in order. Errors: those of the database.
func (p *Projection) Versions(ctx context.Context) ([]Status, error) {
	rows, err := p.db.QueryContext(ctx, `SELECT version, position, parked, active, updated_at FROM onefold_projections WHERE name = $1 ORDER BY version`, p.def.Name)
	all, err := collect(rows, err, func(rows *sql.Rows) (s Status, err error) {
		var active int
		var at string
		if err = rows.Scan(&s.Version, &s.Position, &s.Parked, &active, &at); err == nil {
			s.Active = active == 1
			s.UpdatedAt, err = time.Parse(timeFormat, at)
		}
		return s, err
	})
	return all, p.wrap("versions of", err)
}

// version is what Activate needs to know of a version.
type version struct {
	number   int
	active   bool
	position int64
	parked   int
	tables   []string
}

// lockAll locks the rows of all versions.
func (p *Projection) lockAll(ctx context.Context, tx *sql.Tx) ([]version, error) {
	rows, err := tx.QueryContext(ctx, `UPDATE onefold_projections SET updated_at = updated_at WHERE name = $1 RETURNING version, active, position, parked, tables`, p.def.Name)
	return collect(rows, err, func(rows *sql.Rows) (v version, err error) {
		var active int
		var tables string
		err = rows.Scan(&v.number, &active, &v.position, &v.parked, &tables)
		v.active, v.tables = active == 1, strings.Fields(tables)
		return v, err
	})
}

// Activate makes the views show this version, whether it has caught up or not. Run does so by itself
// once a later version than the active one has caught up; call Activate to go back to an earlier one,
// or in spite of parked events. To go back, first stop the programs that run the later version:
// when they start, they activate it again. Errors: ErrNotFound, those of the database.
func (p *Projection) Activate(ctx context.Context) error {
	return p.wrap("activate", p.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		all, err := p.lockAll(ctx, tx)
		if err != nil {
			return err
		}
		return p.activate(ctx, tx, all)
	}))
}

// activateLater makes this version active unless a later one is. done is false if the active version
// is further, because then readers would see events vanish. Errors: as Activate; ErrParked.
func (p *Projection) activateLater(ctx context.Context) (done bool, err error) {
	err = p.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		all, err := p.lockAll(ctx, tx)
		if err != nil {
			return err
		}
		var this, active version
		for _, v := range all {
			if v.number == p.def.Version {
				this = v
			}
			if v.active {
				active = v
			}
		}
		switch {
		case active.number >= p.def.Version:
			done = true
			return nil
		case this.parked > 0:
			return fmt.Errorf("%w: %d events; call Retry or Discard, or Activate to ignore them", ErrParked, this.parked)
		case this.position < active.position:
			if head, err := p.s.FeedHead(ctx); err != nil || active.position <= head.Position {
				return err
			} // else the event store was restored from a backup, and the active version is stuck
		}
		done = true
		return p.activate(ctx, tx, all)
	})
	return done && err == nil, p.wrap("activate", err)
}

func (p *Projection) activate(ctx context.Context, tx *sql.Tx, all []version) error {
	if !slices.ContainsFunc(all, func(v version) bool { return v.number == p.def.Version }) {
		return ErrNotFound
	}
	var statements []string
	for _, v := range all {
		for _, t := range v.tables {
			if v.active {
				statements = append(statements, `DROP VIEW IF EXISTS "`+t+`"`)
			}
		}
	}
	for _, t := range p.def.Tables {
		statements = append(statements, `CREATE VIEW "`+t+`" AS SELECT * FROM `+tableOf(t, p.def.Version))
	}
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE onefold_projections SET active = CASE WHEN version = $1 THEN 1 ELSE 0 END WHERE name = $2`, p.def.Version, p.def.Name)
	return err
}

// Remove deletes a version with its tables and parked events. It does nothing if there is none. Call it
// when no program runs the version any more. Errors: ErrActive, those of the database.
func (p *Projection) Remove(ctx context.Context, number int) error {
	return p.wrap("remove from", p.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		all, err := p.lockAll(ctx, tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(v version) bool { return v.number == number })
		if i < 0 {
			return nil
		}
		if all[i].active {
			return fmt.Errorf("%w: activate another one before you remove version %d", ErrActive, number)
		}
		for _, t := range slices.Backward(all[i].tables) {
			if err := drop(ctx, tx, tableOf(t, number)); err != nil {
				return err
			}
		}
		for _, t := range []string{"onefold_parked", "onefold_projections"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+t+" WHERE name = $1 AND version = $2", p.def.Name, number); err != nil {
				return err
			}
		}
		return nil
	}))
}

// drop drops a table or, if that fails because it is one, a view.
func drop(ctx context.Context, tx *sql.Tx, name string) error {
	failed, broken := try(ctx, tx, "onefold_drop", func() error {
		_, err := tx.ExecContext(ctx, "DROP TABLE IF EXISTS "+name)
		return err
	})
	if failed == nil || broken != nil {
		return broken
	}
	if _, err := tx.ExecContext(ctx, "DROP VIEW IF EXISTS "+name); err != nil {
		return errors.Join(failed, err)
	}
	return nil
}

// inTx runs a function in a transaction, which is committed unless there is an error.
func (p *Projection) inTx(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after Commit; if it fails, the connection is closed
	if err := do(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// collect reads all rows of a query, and closes them.
func collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) (all []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}
