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

// Errors of Decode and Merge.
var (
	ErrCorrupt = errors.New("window: corrupt")
	ErrVersion = errors.New("window: written by a newer version")
)

// format is the first byte of a body: the version of the format.
const format = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode encodes entries as a body (docs/format/windows.md):
//
//	format 1 | items | CRC-32C 4
//	item = length, sort key | number of facts | facts
//	fact = shared 1 | the other 16 - shared bytes of its ID
//
// Lengths and numbers are uvarints. Items and facts are sorted, and a fact omits the leading bytes
// that it shares with the one before: IDs are ULIDs of a few minutes, which share most of their time.
// Equal sets have equal bytes.
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

// sealed appends the checksum.
func sealed(content []byte) []byte {
	return binary.BigEndian.AppendUint32(content, crc32.Checksum(content, castagnoli))
}

// appendItem appends the sorted facts of one item, each without the leading bytes shared with the
// previous one.
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

// Merge adds the facts of a body to the set. After an error none of them is added. Errors:
// ErrCorrupt, ErrVersion.
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

// Maximum size in a body of an entry, and of an item without its key.
const (
	EntryBytes = 1 + len(ID{})
	ItemBytes  = 2 + binary.MaxVarintLen32
)

// Decode decodes a body. Errors: ErrCorrupt, ErrVersion.
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
