package warehouse

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Key orders the rows of a partition and identifies them. Rows are ordered by time, then by ID,
// which separates the facts of one millisecond, and then by Sub, which separates the rows of one
// fact.
type Key struct {
	At  int64 // epoch milliseconds
	ID  string
	Sub string
}

// Compare orders keys.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.At, o.At), cmp.Compare(k.ID, o.ID), cmp.Compare(k.Sub, o.Sub))
}

// Row is a row of a dataset: *EventRow, *ReadingRow or *DomainEventRow, or the key columns of one.
type Row interface {
	Key() Key
	// Expires returns when the raw fact may be deleted from the table, in epoch milliseconds; 0
	// means never.
	Expires() int64
}

func orZero(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// instant returns a time as it is written in a row, or nil if there is none.
func instant(t time.Time) *int64 {
	if t.IsZero() || t.Unix() == 0 {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

// object returns a map as JSON, or "" if it is empty.
func object[V any](m map[string]V) (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	b, err := json.Marshal(m)
	return string(b), err
}

// float returns the float nearest to a decimal, or nil if there is none.
func float(s string) *float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return &f
}

func parseJSON(what, s string, into any) error {
	if s == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(s), into); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, what, err)
	}
	return nil
}
