package table

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Default and maximum number of items in a page.
const (
	defaultPageItems = 50
	maxPageItems     = 1000
)

// A Page is a part of a pattern's result.
type Page[T any] struct {
	Items []T
	Next  string // cursor of the next page; empty for the last page
}

// Page reads at most limit items after a cursor; an empty cursor means the beginning. limit is at
// most 1,000; 0 means 50.
//
// If there is a next page, this one is full and the next is not empty: expired, removed and
// filtered items are made up for. Cursors are opaque and signed, and valid only for the same
// pattern, table and partition. Errors: ErrCursor for any other cursor.
func (q *Query[In, T, K]) Page(ctx context.Context, t *Table, in In, cursor string, limit int) (Page[T], error) {
	var page Page[T]
	next, err := q.core.page(ctx, t, &in, cursor, pageItems(limit), func(it Item) error {
		var v T
		err := q.core.entity.decode(it, &v)
		if err == nil {
			page.Items = append(page.Items, v)
		}
		return err
	})
	if err != nil {
		return page, q.core.failed(err)
	}
	page.Next = next
	return page, nil
}

func pageItems(limit int) int {
	if limit <= 0 {
		return defaultPageItems
	}
	return min(limit, maxPageItems)
}

// page passes the items of a page to each and returns the cursor of the next page.
func (p *pattern) page(ctx context.Context, t *Table, in any, cursor string, limit int, each func(Item) error) (next string, err error) {
	asks, err := p.asks(in)
	if err != nil {
		return "", err
	}
	scope := p.cursorScope(t, asks)
	var after position
	if cursor != "" {
		if after, err = t.openCursor(scope, cursor); err == nil {
			asks, err = p.resume(asks, after)
		}
		if err != nil {
			return "", err
		}
	}
	ask := int32(limit + 1) // one more, to know whether there is a next page
	if p.filter != nil {
		ask = max(ask, defaultPageItems)
	}
	s, err := p.stream(ctx, t, asks, ask)
	if err != nil {
		return "", err
	}
	var last position
	for n := 0; ; {
		it, err := s.next(ctx)
		if it == nil || err != nil {
			return "", err
		}
		at := p.position(it)
		if after != nil && p.compare(at, after) < 0 {
			continue // same sort key as the cursor, in a shard that precedes it
		}
		if n == limit {
			return t.sealCursor(scope, last), nil
		}
		if err := each(it); err != nil {
			return "", err
		}
		n, last = n+1, at
	}
}

// resume makes asks start after a position. The shard of that position continues after exactly that
// key. Other shards start at its sort key, which may occur there too: such items precede or follow
// the position by their partition keys.
func (p *pattern) resume(asks []ask, after position) ([]ask, error) {
	for i := range asks {
		a := &asks[i]
		if !a.span.contains(after[0]) {
			return nil, fmt.Errorf("%w: it is outside the requested range", ErrCursor)
		}
		switch {
		case a.pk == after[1]:
			a.start = p.startKey(after)
		case a.span.exact != "":
		case p.desc:
			a.span = span{lo: a.span.lo, hi: after[0], inclusive: true}
		default:
			a.span = span{lo: after[0], hi: a.span.hi}
		}
	}
	return asks, nil
}

func (s span) contains(key string) bool {
	if s.exact != "" {
		return key == s.exact
	}
	return s.lo <= key && key < s.hi
}

func (p *pattern) startKey(after position) Item {
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	if p.index == "" {
		return Item{AttrSK: str(after[0]), AttrPK: str(after[1])}
	}
	return Item{p.skAttr: str(after[0]), p.pkAttr: str(after[1]), AttrPK: str(after[2]), AttrSK: str(after[3])}
}

// cursorScope returns what a cursor is bound to: table, pattern and partitions. It excludes the
// ends of the range, which may move between pages, for instance if one is the current time.
func (p *pattern) cursorScope(t *Table, asks []ask) string {
	scope := []string{t.name, p.id, p.entity.name}
	for _, a := range asks {
		scope = append(scope, a.pk)
	}
	return strings.Join(scope, "\x00")
}

const macBytes = 16

// sealCursor encodes a position: a MAC over scope and position, then each text with its length.
func (t *Table) sealCursor(scope string, at position) string {
	var body []byte
	for _, s := range at {
		body = binary.AppendUvarint(body, uint64(len(s)))
		body = append(body, s...)
	}
	return base64.RawURLEncoding.EncodeToString(append(t.cursorMAC(scope, body), body...))
}

func (t *Table) cursorMAC(scope string, body []byte) []byte {
	h := hmac.New(sha256.New, t.cursorKey)
	h.Write(binary.AppendUvarint(nil, uint64(len(scope))))
	h.Write([]byte(scope))
	h.Write(body)
	return h.Sum(nil)[:macBytes]
}

func (t *Table) openCursor(scope, cursor string) (position, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) < macBytes || !hmac.Equal(raw[:macBytes], t.cursorMAC(scope, raw[macBytes:])) {
		return nil, fmt.Errorf("%w: begin again without one", ErrCursor)
	}
	var at position
	for body := raw[macBytes:]; len(body) > 0; {
		n, size := binary.Uvarint(body)
		if size <= 0 || n > uint64(len(body)-size) {
			return nil, fmt.Errorf("%w: begin again without one", ErrCursor)
		}
		at = append(at, string(body[size:size+int(n)]))
		body = body[size+int(n):]
	}
	return at, nil
}

// SealCursor encodes the position at which a page ends that no pattern produced. OpenCursor decodes
// it, given the same scope.
func (t *Table) SealCursor(scope string, at ...string) string {
	return t.sealCursor(t.name+"\x00\x00"+scope, at)
}

// OpenCursor decodes a cursor made by SealCursor. Errors: ErrCursor if it was not made for the
// scope.
func (t *Table) OpenCursor(scope, cursor string) ([]string, error) {
	return t.openCursor(t.name+"\x00\x00"+scope, cursor)
}
