package warehouse

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Key orders the rows of a partition, and tells facts apart: by time, by what tells those of a millisecond apart, and
// the rows of one fact by Sub.
type Key struct {
	At  int64 // epoch milliseconds
	ID  string
	Sub string
}

// Compare orders keys.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.At, o.At), cmp.Compare(k.ID, o.ID), cmp.Compare(k.Sub, o.Sub))
}

// Row is a row of a dataset: *EventRow, *ReadingRow or *DomainEventRow, or the keys of one.
type Row interface {
	Key() Key
	// Expires is when the raw fact may be deleted from the table, in epoch milliseconds; 0: never.
	Expires() int64
}

func orZero(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// instant is a time as a row has it, nil for none.
func instant(t time.Time) *int64 {
	if t.IsZero() || t.Unix() == 0 {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

// object is a map as JSON, "" for none.
func object[V any](m map[string]V) (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	b, err := json.Marshal(m)
	return string(b), err
}

// float is a decimal as the nearest float, nil for none.
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
