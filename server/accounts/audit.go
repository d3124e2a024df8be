package accounts

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/onefold/onefold/table"
)

// keepEntries is how long the audit record is kept: a year, and the current month.
const keepEntries = 400 * 24 * time.Hour

const monthLayout = "2006-01"

// Record appends an entry to the chain of the audit record. The caller sets actor, action, subject
// and changes; Record sets all other fields.
func (s *Store) Record(ctx context.Context, e Entry) error {
	if err := s.append(ctx, &e); err != nil {
		return fmt.Errorf("accounts: record %s: %w", e.Action, err)
	}
	return nil
}

// RecordChange is Record with the states before and after the change, as for Entry.Change.
func (s *Store) RecordChange(ctx context.Context, e Entry, before, after any) error {
	if err := e.Change(before, after); err != nil {
		return err
	}
	return s.Record(ctx, e)
}

// At returns when an entry was made, to the millisecond, or the zero time for a damaged ID.
func (e *Entry) At() time.Time { return timeOf(e.EntryID) }

// maxMonths is the maximum number of months that are read one after another: those that are kept,
// and some from a clock that was ahead.
const maxMonths = 60

// AuditDays returns the time range [from, to) of the days first to last (YYYY-MM-DD, UTC). ""
// stands for the first day that is kept, and for today. Errors: ErrInvalid.
func AuditDays(first, last string, now time.Time) (from, to time.Time, err error) {
	from, to = now.UTC().Add(-keepEntries), now.UTC()
	for text, day := range map[*string]*time.Time{&first: &from, &last: &to} {
		if *text == "" {
			*text = day.Format(time.DateOnly)
		}
		if *day, err = time.Parse(time.DateOnly, *text); err != nil {
			return from, to, fmt.Errorf("%w: day: use one like 2026-05-31", ErrInvalid)
		}
	}
	if to = to.AddDate(0, 0, 1); !from.Before(to) {
		return from, to, fmt.Errorf("%w: the first day must not be after the last", ErrInvalid)
	}
	if years := 4; from.AddDate(years, 0, 0).Before(to) {
		return from, to, fmt.Errorf("%w: at most %d years at a time", ErrInvalid, years)
	}
	return from, to, nil
}

// EntriesBetween reads the entries of [from, to), oldest first.
func (s *Store) EntriesBetween(ctx context.Context, from, to time.Time) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range s.entriesOfMonths(ctx, from, to) {
			if at := e.At(); err == nil && (at.Before(from) || !at.Before(to)) {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// entriesOfMonths reads all entries of the months of [from, to), oldest first.
func (s *Store) entriesOfMonths(ctx context.Context, from, to time.Time) iter.Seq2[Entry, error] {
	from, to = from.UTC(), to.UTC()
	return func(yield func(Entry, error) bool) {
		month := time.Date(from.Year(), from.Month(), 1, 0, 0, 0, 0, time.UTC)
		for range maxMonths {
			if !month.Before(to) {
				return
			}
			for e, err := range EntriesInOrder.All(ctx, s.t, AuditIn{month.Format(monthLayout)}) {
				if err != nil {
					yield(e, fmt.Errorf("accounts: audit: %w", err))
					return
				}
				if !yield(e, nil) {
					return
				}
			}
			month = month.AddDate(0, 1, 0)
		}
	}
}

// Audit reads a page of the entries of a month (YYYY-MM, UTC; "" is the current month), newest
// first. Errors: ErrInvalid, table.ErrCursor.
func (s *Store) Audit(ctx context.Context, month, cursor string, limit int) (table.Page[Entry], error) {
	if month == "" {
		month = s.now().Format(monthLayout)
	}
	if _, err := time.Parse(monthLayout, month); err != nil {
		return table.Page[Entry]{}, fmt.Errorf("%w: month: use one like 2026-05", ErrInvalid)
	}
	page, err := EntriesOfMonth.Page(ctx, s.t, AuditIn{month}, cursor, limit)
	if err != nil {
		return page, fmt.Errorf("accounts: audit: %w", err)
	}
	return page, nil
}
