package row

import "encoding/binary"

// Postponed is a change of an index that is not visible yet: the entry to remove and the entry to
// add. A nil key means none. It is stored as
//
//	length, key to remove | length, key to add | length, value to add
//
// Lengths are uvarints; a part that is absent has length 0. The row's key orders changes by the time
// at which readers are to see them, so the delay of an index is a scan up to the current time.
type Postponed struct {
	Gone       []byte // a key
	Key, Value []byte
}

// Append appends the encoded change: each part preceded by its length.
func (p Postponed) Append(dst []byte) []byte {
	for _, part := range [][]byte{p.Gone, p.Key, p.Value} {
		dst = AppendSized(dst, part)
	}
	return dst
}

// ParsePostponed decodes a change. Errors: ErrCorrupt.
func ParsePostponed(v []byte) (p Postponed, err error) {
	for _, part := range []*[]byte{&p.Gone, &p.Key, &p.Value} {
		n, w := binary.Uvarint(v)
		if w <= 0 || n > uint64(len(v)-w) {
			return p, ErrCorrupt
		}
		if n > 0 {
			*part = v[w : w+int(n)]
		}
		v = v[w+int(n):]
	}
	for _, key := range [][]byte{p.Gone, p.Key} {
		if key != nil && (len(key) < IndexPrefixLen || key[0] != SpaceIndex) {
			return p, ErrCorrupt
		}
	}
	return p, nil
}

// IndexOf returns the IDs of the table and index in an entry's key.
func IndexOf(key []byte) (table, index uint32) {
	return binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint32(key[5:])
}

// AppendPostponedKey appends the key of a postponed change: its due time in milliseconds since
// 1970, and a number that orders changes with the same due time.
func AppendPostponedKey(dst []byte, due int64, number uint64) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, SpacePostponed), uint64(due))
	return binary.BigEndian.AppendUint64(dst, number)
}
