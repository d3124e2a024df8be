package eventstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// ErrWriteMode is returned when the store's write mode differs from that of the table: transactions
// or put mode. Nothing was stored.
var ErrWriteMode = errors.New("eventstore: the table has another write mode")

// WriteMode is how all stores append to a table. The first append decides it.
type WriteMode string

// The write modes.
const (
	InTransactions WriteMode = "pages in transactions"
	PutMode        WriteMode = "pages by puts" // put mode, see Options.PutMode
)

func (s *Store) mode() WriteMode {
	if s.o.PutMode {
		return PutMode
	}
	return InTransactions
}

// agreeOnMode makes the store's mode that of the table, or detects that the table has another, and
// records the store's TypeShards. It asks once, because a table keeps its mode.
func (s *Store) agreeOnMode(ctx context.Context) error {
	if s.agreed.Load() {
		return nil
	}
	r, err := updateRules(ctx, s.t, "SET #et = :et, #name = if_not_exists(#name, :value)", "mode", &types.AttributeValueMemberS{Value: string(s.mode())})
	if err == nil {
		err = s.sameMode(&r)
	}
	if err == nil {
		err = s.recordShards(ctx, &r)
	}
	s.agreed.Store(err == nil)
	return err
}

func (s *Store) sameMode(r *Rules) error {
	switch {
	case r.Mode == "" || r.Mode == s.mode():
		return nil
	case r.Mode != InTransactions && r.Mode != PutMode:
		return fmt.Errorf("%w: %q, which this version does not know: use another table", ErrWriteMode, r.Mode)
	case s.o.PutMode:
		return fmt.Errorf("%w: transactions, but this store uses put mode: open it without Options.PutMode or use another table", ErrWriteMode)
	}
	return fmt.Errorf("%w: put mode, but this store uses transactions: open it with Options.PutMode or use another table", ErrWriteMode)
}

// CheckMode checks, without writing, that the table has the store's write mode or none yet. Errors:
// ErrWriteMode, those of the store.
func (s *Store) CheckMode(ctx context.Context) error {
	r, err := RulesNow.Get(ctx, s.t, RulesKey{})
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("eventstore: how the table is appended to: %w", err)
	}
	return s.sameMode(&r)
}
