package eventstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// Close closes a stream permanently: it can be read but never appended to. Closing a closed stream
// does nothing. Errors: table.ErrNotFound, ErrClosed if it is deleted, ErrWriteMode.
func (s *Store) Close(ctx context.Context, id ID) error { return s.end(ctx, id, Closed) }

// Delete leaves a tombstone: the stream's ID is never reused. Its events stay until they are
// purged. Errors: table.ErrNotFound, ErrWriteMode.
func (s *Store) Delete(ctx context.Context, id ID) error { return s.end(ctx, id, Deleted) }

func (s *Store) end(ctx context.Context, id ID, state StreamState) error {
	err := id.check()
	if err == nil {
		err = s.agreeOnMode(ctx)
	}
	if err == nil {
		_, err = Heads.Patch(ctx, s.t, id, headState.Set(state), headUpdated.Set(s.t.Now().UTC()),
			table.If[Head](table.Or(headState.Missing(), headState.Eq(Closed))))
	}
	if errors.Is(err, table.ErrNotFound) { // or the store does not say what it has
		if h, headErr := s.readHead(ctx, id); headErr != nil || h.Version > 0 {
			err = cmp.Or(headErr, table.ErrCondition)
		}
	}
	switch {
	case errors.Is(err, table.ErrCondition) && state == Deleted:
		return nil
	case errors.Is(err, table.ErrCondition):
		return fmt.Errorf("eventstore: close %s: %w: the aggregate is deleted", id, ErrClosed)
	case err != nil:
		return fmt.Errorf("eventstore: end %s: %w", shorten(id.String()), err)
	}
	return nil
}
