package block

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"github.com/onefold/onefold/internal/varint"
)

// dictionary numbers the distinct texts of a column in order of occurrence. It is a hash table with
// linear probing, at most half full, which is emptied faster than a map.
type dictionary struct {
	texts []string
	slots []uint32 // numbers of texts, plus one; the length is a power of two
}

var seed = maphash.MakeSeed()

// reset empties the dictionary for about n texts.
func (t *dictionary) reset(n int) {
	clear(t.texts) // must not retain them
	t.texts = t.texts[:0]
	t.resize(n)
}

// resize allocates empty slots for at least n texts.
func (t *dictionary) resize(n int) {
	size := 1 << bits.Len(uint(2*n))
	if cap(t.slots) < size {
		t.slots = make([]uint32, size)
		return
	}
	t.slots = t.slots[:size]
	clear(t.slots)
}

// number returns the number of a text. added reports that the text is new.
func (t *dictionary) number(s string) (n int, added bool) {
	mask := uint64(len(t.slots) - 1)
	at := maphash.String(seed, s) & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		if n := int(t.slots[at] - 1); t.texts[n] == s {
			return n, false
		}
	}
	t.texts = append(t.texts, s)
	t.slots[at] = uint32(len(t.texts))
	if 2*len(t.texts) > len(t.slots) {
		t.grow()
	}
	return len(t.texts) - 1, true
}

func (t *dictionary) grow() {
	t.resize(2 * len(t.texts))
	mask := uint64(len(t.slots) - 1)
	for n, s := range t.texts {
		at := maphash.String(seed, s) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = uint32(n + 1)
	}
}

// append appends the texts: their number, their lengths, and their bytes.
func (t *dictionary) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(t.texts)))
	for _, s := range t.texts {
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	for _, s := range t.texts {
		b = append(b, s...)
	}
	return b
}

// readDictionary appends the texts of a dictionary to texts. They share one string.
func readDictionary(r *varint.Reader, texts []string, most int) []string {
	n := r.Count()
	if n > most {
		r.Fail()
		return texts
	}
	lengths, total := *r, uint64(0)
	for range n {
		length := r.Uint()
		if length > MaxBytes {
			r.Fail()
			return texts
		}
		total += length
	}
	all := string(r.Bytes(total))
	if r.Failed() {
		return texts
	}
	for range n {
		length := lengths.Uint()
		texts = append(texts, all[:length])
		all = all[length:]
	}
	return texts
}

// appendTexts appends the texts of a column. A reference is 0 for the next new text of the
// dictionary, otherwise the number of an earlier text, plus one. So distinct texts cost hardly more
// than without a dictionary.
func (e *encoder) appendTexts(b []byte, texts []string) ([]byte, form) {
	if len(texts) == 1 {
		return append(b, texts[0]...), formText
	}
	e.dictionary.reset(len(texts))
	e.references = e.references[:0]
	last, lastNumber := "", -1
	for _, s := range texts {
		if s != last || lastNumber < 0 {
			n, added := e.dictionary.number(s)
			last, lastNumber = s, n
			if added {
				e.references = append(e.references, 0)
				continue
			}
		}
		e.references = binary.AppendUvarint(e.references, uint64(lastNumber)+1)
	}
	return append(e.dictionary.append(b), e.references...), formTexts
}

// readTexts reads n texts.
func (d *decoder) readTexts(f form, n int) {
	d.texts = d.texts[:0]
	if f == formText {
		if n != 1 {
			d.fail("it has one text for many facts")
			return
		}
		d.texts = append(d.texts, string(d.r.Rest()))
		return
	}
	d.dictionary = readDictionary(&d.r, d.dictionary[:0], n)
	next := 0
	for range n {
		number := d.r.Uint()
		if number == 0 {
			next++
			number = uint64(next)
		}
		if number > uint64(next) || next > len(d.dictionary) {
			d.fail("a text is not in its dictionary")
			return
		}
		d.texts = append(d.texts, d.dictionary[number-1])
	}
}
