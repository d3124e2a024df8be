package salvage

import (
	"bytes"
	"fmt"
)

// Loss is something that could not be read.
type Loss struct {
	File  string `json:"file"`
	Table string `json:"table,omitempty"` // of which items may be missing, or older than they were
	After string `json:"after,omitempty"` // they are behind the item of this key; "" for the first
	Until string `json:"until,omitempty"` // up to that of this one; "" for the last
	Text  string `json:"text"`            // what could not be read, and what that means
}

// String is the loss on one line.
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

// gap is a range of keys of which a file's rows could not be read: above after, up to until. nil is no bound.
type gap struct {
	file         string
	after, until []byte
	why          string
}

// overlaps reports whether a key from low to below high may be in the gap.
func (g *gap) overlaps(low, high []byte) bool {
	return (g.until == nil || bytes.Compare(low, g.until) <= 0) && (high == nil || g.after == nil || bytes.Compare(g.after, high) < 0)
}

func (g *gap) has(key []byte) bool {
	return (g.until == nil || bytes.Compare(key, g.until) <= 0) && bytes.Compare(key, g.after) > 0
}
