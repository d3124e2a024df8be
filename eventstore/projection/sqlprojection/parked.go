package sqlprojection

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/eventstore"
)

// Parked is an event that could not be applied, or that waits for an earlier one of its aggregate.
type Parked struct {
	eventstore.EventKey
	Position  int64 // in the feed
	EventID   string
	EventType string
	Reason    string // error of the last attempt, at most 500 bytes; "": it waits for an earlier event
	Attempts  int
	ParkedAt  time.Time
}

// Parked returns the parked events of this version, by position: at most Options.MostParked. Errors:
// those of the database.
func (p *Projection) Parked(ctx context.Context) ([]Parked, error) {
	rows, err := p.db.QueryContext(ctx, selectParked+" ORDER BY position, aggregate_type, aggregate_id, seq", p.def.Name, p.def.Version)
	all, err := collect(rows, err, scanParked)
	return all, p.wrap("parked events of", err)
}

const selectParked = `SELECT aggregate_type, aggregate_id, seq, position, event_id, event_type, reason, attempts, parked_at
	FROM onefold_parked WHERE name = $1 AND version = $2`

func scanParked(rows *sql.Rows) (e Parked, err error) {
	var at string
	if err = rows.Scan(&e.Type, &e.EventKey.ID.ID, &e.Seq, &e.Position, &e.EventID, &e.EventType, &e.Reason, &e.Attempts, &at); err == nil {
		e.ParkedAt, err = time.Parse(timeFormat, at)
	}
	e.Type, e.EventKey.ID.ID, e.EventType = fromText(e.Type), fromText(e.EventKey.ID.ID), fromText(e.EventType)
	return e, err
}

// text returns a name as text that databases accept: PostgreSQL has no NUL. Names contain no '#'.
func text(name string) string { return strings.ReplaceAll(name, "\x00", "#0") }

func fromText(s string) string { return strings.ReplaceAll(s, "#0", "\x00") }

// park parks an event and the later ones of its aggregate.
func (b *batch) park(e *eventstore.FeedEvent, reason string, attempts int) error {
	b.parked++
	b.waiting[e.ID] = true
	_, err := b.tx.ExecContext(b.ctx, `INSERT INTO onefold_parked (name, version, aggregate_type, aggregate_id, seq, position, event_id, event_type, reason, attempts, parked_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		b.def.Name, b.def.Version, text(e.Type), text(e.EventKey.ID.ID), e.Seq, e.Position, e.EventID, text(e.EventType), reason, attempts, b.now())
	return err
}

// Retry applies the parked events of some aggregates, without IDs of all, each in order until one
// fails. It returns how many it applied. Events that still fail stay parked, with the new reason, and
// are no error. Errors: those of the database and of the store.
func (p *Projection) Retry(ctx context.Context, ids ...eventstore.ID) (applied int, err error) {
	if len(ids) == 0 {
		all, err := p.Parked(ctx)
		if err != nil {
			return 0, err
		}
		for _, e := range all {
			if !slices.Contains(ids, e.EventKey.ID) {
				ids = append(ids, e.EventKey.ID)
			}
		}
	}
	for _, id := range ids {
		for more := true; more; {
			var n int
			if n, more, err = p.retry(ctx, id); err != nil {
				return applied, p.wrap("retry", err)
			}
			applied += n
		}
	}
	return applied, nil
}

// retryAtOnce is the number of parked events that are read and applied together.
const retryAtOnce = 100

// retry applies the first parked events of an aggregate. There may be more.
func (p *Projection) retry(ctx context.Context, id eventstore.ID) (applied int, more bool, err error) {
	first, err := p.firstParked(ctx, p.db, id)
	if err != nil || len(first) == 0 {
		return 0, false, err
	}
	events := map[int64]eventstore.Event{} // read before the transaction, which blocks others
	for _, p := range first {
		events[p.Seq] = eventstore.Event{} // stays empty if the event store has no such event
	}
	for e, err := range p.s.Read(ctx, id, eventstore.From(first[0].Seq), eventstore.To(first[len(first)-1].Seq)) {
		if err != nil {
			return 0, false, err
		}
		if _, ok := events[e.Seq]; ok { // others are not in Only
			events[e.Seq] = e
		}
	}
	err = p.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		b, err := (&subscriber{Projection: p}).begin(ctx, tx)
		if err == nil {
			applied, more, err = b.retry(id, events)
		}
		if err != nil {
			return err
		}
		b.through = b.position
		return b.end()
	})
	if err != nil {
		return 0, false, err
	}
	return applied, more, nil
}

func (b *batch) retry(id eventstore.ID, events map[int64]eventstore.Event) (applied int, more bool, err error) {
	parked, err := b.firstParked(b.ctx, b.tx, id) // those that another process has applied are missing now
	if err != nil {
		return 0, false, err
	}
	for _, p := range parked {
		e, ok := events[p.Seq]
		if !ok { // another process has applied those before it
			return applied, true, nil
		}
		failed, broken := b.try("onefold_event", func() error {
			if e.EventID != p.EventID {
				return fmt.Errorf("%w: the event store no longer has event %s; discard it", eventstore.ErrHole, printable(p.EventID))
			}
			return b.apply(&eventstore.FeedEvent{Event: e, Position: p.Position, Last: true})
		})
		if broken == nil {
			broken = b.ctx.Err()
		}
		if broken == nil && failed == nil {
			_, broken = b.tx.ExecContext(b.ctx, `DELETE FROM onefold_parked WHERE name = $1 AND version = $2 AND aggregate_type = $3 AND aggregate_id = $4 AND seq = $5`,
				b.def.Name, b.def.Version, text(id.Type), text(id.ID), p.Seq)
			b.parked--
			applied++
		} else if broken == nil {
			_, broken = b.tx.ExecContext(b.ctx, `UPDATE onefold_parked SET reason = $1, attempts = attempts + 1 WHERE name = $2 AND version = $3 AND aggregate_type = $4 AND aggregate_id = $5 AND seq = $6`,
				reasonOf(failed), b.def.Name, b.def.Version, text(id.Type), text(id.ID), p.Seq)
			return applied, false, broken
		}
		if broken != nil {
			return 0, false, broken
		}
	}
	return applied, len(parked) == retryAtOnce, nil
}

// firstParked returns the first parked events of an aggregate.
func (p *Projection) firstParked(ctx context.Context, in interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, id eventstore.ID) ([]Parked, error) {
	rows, err := in.QueryContext(ctx, selectParked+fmt.Sprintf(" AND aggregate_type = $3 AND aggregate_id = $4 ORDER BY seq LIMIT %d", retryAtOnce),
		p.def.Name, p.def.Version, text(id.Type), text(id.ID))
	return collect(rows, err, scanParked)
}

// Discard forgets the parked events of some aggregates, which are then never applied. Later events of
// these aggregates are applied again. It returns how many it discarded. Errors: those of the database.
func (p *Projection) Discard(ctx context.Context, ids ...eventstore.ID) (discarded int, err error) {
	err = p.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		b, err := (&subscriber{Projection: p}).begin(ctx, tx)
		if err != nil {
			return err
		}
		discarded = 0
		for _, id := range ids {
			done, err := tx.ExecContext(ctx, `DELETE FROM onefold_parked WHERE name = $1 AND version = $2 AND aggregate_type = $3 AND aggregate_id = $4`,
				p.def.Name, p.def.Version, text(id.Type), text(id.ID))
			if err != nil {
				return err
			}
			n, err := done.RowsAffected()
			if err != nil {
				return err
			}
			discarded += int(n)
		}
		b.through, b.parked = b.position, b.parked-discarded
		return b.end()
	})
	return discarded, p.wrap("discard events of", err)
}

// maxReason is the maximum length of an error in the table, in bytes.
const maxReason = 500

// reasonOf returns the text of an error as databases accept it.
func reasonOf(err error) string {
	s := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "\ufffd"), "\x00", "\ufffd")
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason-len("…")], "") + "…"
}
