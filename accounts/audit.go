package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
)

// keepEntries is how long the record is kept: a year, and the month that is being looked at.
const keepEntries = 400 * 24 * time.Hour

const monthLayout = "2006-01"

// Record writes down that something was changed. Month, id and expiry of the entry are filled in.
func (s *Store) Record(ctx context.Context, e Entry) error {
	now := s.now()
	id, err := ulid.New(ulid.Timestamp(now), ulid.DefaultEntropy())
	if err != nil {
		return fmt.Errorf("accounts: record: %w", err)
	}
	e.EntryKey = EntryKey{now.Format(monthLayout), id.String()}
	e.Expires = now.Add(keepEntries).Truncate(time.Second)
	if err := Entries.Create(ctx, s.t, &e); err != nil {
		return fmt.Errorf("accounts: record %s: %w", e.Action, err)
	}
	return nil
}

// At is when an entry was made, to the millisecond; zero for a damaged id.
func (e *Entry) At() time.Time {
	id, err := ulid.ParseStrict(e.EntryID)
	if err != nil {
		return time.Time{}
	}
	return ulid.Time(id.Time()).UTC()
}

// Audit reads what was changed in a month (YYYY-MM, UTC; "" is the present one), latest first. Errors: ErrInvalid,
// table.ErrCursor.
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
