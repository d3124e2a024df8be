package block

import "github.com/oklog/ulid/v2"

// The bytes of a ULID, and of the part of it behind its time.
const (
	ulidText = ulid.EncodedSize
	tailAt   = 6
	tailSize = 10
)

// allULIDs reports whether all texts of the column are ULIDs as they are written: in upper case.
func (e *encoder) allULIDs() bool {
	for _, s := range e.texts {
		if len(s) != ulidText {
			return false
		}
	}
	for _, s := range e.texts {
		if _, ok := parseULID(s); !ok {
			return false
		}
	}
	return true
}

func parseULID(s string) (id ulid.ULID, ok bool) {
	var again [ulidText]byte
	id, err := ulid.ParseStrict(s)
	if err != nil || id.MarshalTextTo(again[:]) != nil {
		return id, false
	}
	return id, string(again[:]) == s
}

// appendULIDs appends ids: their times, then the rest of each.
func (e *encoder) appendULIDs(b []byte, ids []string) []byte {
	e.ints, e.references = e.ints[:0], e.references[:0]
	for _, s := range ids {
		id, _ := parseULID(s)
		e.ints = append(e.ints, int64(id.Time()))
		e.references = append(e.references, id[tailAt:]...)
	}
	return append(appendDeltas(b, e.ints), e.references...)
}

// readULIDs reads n ids. They share one string.
func (d *decoder) readULIDs(n int) {
	d.readInts(formDelta, n)
	all, text := make([]byte, 0, n*ulidText), [ulidText]byte{}
	for _, ms := range d.ints {
		var id ulid.ULID
		copy(id[tailAt:], d.r.Bytes(tailSize))
		if err := id.SetTime(uint64(ms)); err != nil {
			d.fail("a time is not one of a ULID")
			return
		}
		if id.MarshalTextTo(text[:]) == nil {
			all = append(all, text[:]...)
		}
	}
	shared := string(all)
	d.texts = d.texts[:0]
	for range d.ints {
		d.texts, shared = append(d.texts, shared[:ulidText]), shared[ulidText:]
	}
}
