package window

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/onefold/onefold/internal/varint"
)

// Errors of Merge.
var (
	ErrCorrupt = errors.New("window: corrupt")
	ErrVersion = errors.New("window: written by a newer version")
)

// format is the first byte of a body.
const format = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode makes the body of entries: docs/format/windows.md.
func Encode(entries []Entry) []byte {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int {
		if a.Item != b.Item {
			return strings.Compare(a.Item, b.Item)
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	body := []byte{format}
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].Item == entries[0].Item {
			n++
		}
		body = appendItem(body, entries[:n])
		entries = entries[n:]
	}
	return sealed(body)
}

// sealed appends the sum.
func sealed(content []byte) []byte {
	return binary.BigEndian.AppendUint32(content, crc32.Checksum(content, castagnoli))
}

// appendItem appends the facts of one item, in order, each without the bytes that it shares with the one before.
func appendItem(body []byte, entries []Entry) []byte {
	item := entries[0].Item
	body = binary.AppendUvarint(body, uint64(len(item)))
	body = append(body, item...)
	body = binary.AppendUvarint(body, uint64(len(entries)))
	var last ID
	for _, e := range entries {
		n := 0
		for n < len(last)-1 && last[n] == e.ID[n] {
			n++
		}
		body = append(append(body, byte(n)), e.ID[n:]...)
		last = e.ID
	}
	return body
}

// Merge adds the facts of a body. After an error none of them is added. Errors: ErrCorrupt, ErrVersion.
func (s *Set) Merge(body []byte) error {
	entries, err := Decode(body)
	if err != nil {
		return err
	}
	for _, e := range entries {
		s.merge(e)
	}
	return nil
}

const sumBytes = 4

// What an entry, and an item beside the length of its key, take of a body at most.
const (
	EntryBytes = 1 + len(ID{})
	ItemBytes  = 2 + binary.MaxVarintLen32
)

// Decode reads a body. Errors: ErrCorrupt, ErrVersion.
func Decode(body []byte) ([]Entry, error) {
	if len(body) < 1+sumBytes {
		return nil, ErrCorrupt
	}
	content, sum := body[:len(body)-sumBytes], binary.BigEndian.Uint32(body[len(body)-sumBytes:])
	if crc32.Checksum(content, castagnoli) != sum {
		return nil, ErrCorrupt
	}
	if content[0] != format {
		return nil, ErrVersion
	}
	r := varint.NewReader(content[1:])
	var entries []Entry
	for r.More() {
		item := string(r.Bytes(r.Uint()))
		var last ID
		for range r.Count() {
			shared := int(r.Uint())
			if shared >= len(last) {
				return nil, ErrCorrupt
			}
			copy(last[shared:], r.Bytes(uint64(len(last)-shared)))
			entries = append(entries, Entry{last, item})
		}
	}
	if r.Failed() {
		return nil, ErrCorrupt
	}
	return entries, nil
}
