package salvage

import (
	"bytes"
	"fmt"
)

// Loss is data that could not be read.
type Loss struct {
	File  string `json:"file"`
	Table string `json:"table,omitempty"` // items of this table may be missing or outdated
	After string `json:"after,omitempty"` // affected items are after the item with this key; "" means from the first
	Until string `json:"until,omitempty"` // up to the item with this key; "" means to the last
	Text  string `json:"text"`            // what could not be read, and what that means
}

// String formats the loss on one line.
func (l *Loss) String() string {
	text := l.File + ": "
	if l.Table != "" {
		text += fmt.Sprintf("table=%s after=%s until=%s: ", l.Table, orOpen(l.After), orOpen(l.Until))
	}
	return text + l.Text
}

func orOpen(key string) string {
	if key == "" {
		return "-"
	}
	return key
}

// gap is a range of keys in a file that could not be read: after exclusive, until inclusive. nil
// means no bound.
type gap struct {
	file         string
	after, until []byte
	why          string
}

// overlaps reports whether the gap may contain a key from low to below high.
func (g *gap) overlaps(low, high []byte) bool {
	return (g.until == nil || bytes.Compare(low, g.until) <= 0) && (high == nil || g.after == nil || bytes.Compare(g.after, high) < 0)
}

func (g *gap) has(key []byte) bool {
	return (g.until == nil || bytes.Compare(key, g.until) <= 0) && bytes.Compare(key, g.after) > 0
}
