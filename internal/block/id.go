package block

import "github.com/oklog/ulid/v2"

// Sizes in bytes of a ULID, and of its part after the time.
const (
	ulidText = ulid.EncodedSize
	tailAt   = 6
	tailSize = 10
)

// takeULIDs parses the texts of the column as ULIDs. It reports false if a text is not a ULID in
// its canonical form, in upper case.
func (e *encoder) takeULIDs() bool {
	e.ids = e.ids[:0]
	var again [ulidText]byte
	for _, s := range e.texts {
		id, err := ulid.ParseStrict(s)
		if err != nil || id.MarshalTextTo(again[:]) != nil || string(again[:]) != s {
			return false
		}
		e.ids = append(e.ids, id)
	}
	return true
}

// appendULIDs appends IDs: their times, then the rest of each.
func (e *encoder) appendULIDs(b []byte, ids []ulid.ULID) []byte {
	e.ints = e.ints[:0]
	for i := range ids {
		e.ints = append(e.ints, int64(ids[i].Time()))
	}
	b = appendDeltas(b, e.ints)
	for i := range ids {
		b = append(b, ids[i][tailAt:]...)
	}
	return b
}

// readULIDs reads n IDs. They share one string.
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
