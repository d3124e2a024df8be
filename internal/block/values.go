package block

import "math"

// kind is the type of a column's values.
type kind byte

const (
	boolKind kind = iota
	textKind
	idKind
	intKind
	floatKind
	nestedKind
	cellsKind
)

// form is how the values of a column are stored. The numbers are part of the format.
type form byte

const (
	formNone    form = 0 // nothing: all values are true
	formText    form = 1 // a single text
	formTexts   form = 2 // a dictionary, and a reference for each value
	formOffset  form = 3 // the minimum, and the difference of each value to it
	formDelta   form = 4 // the first integer, and the difference of each value to its predecessor
	formULID    form = 5 // times as in formDelta, and 10 bytes each
	formDecimal form = 6 // the number of decimal places, and integers
	formFloat   form = 7 // 8 bytes each
	formNested  form = 8 // a dictionary, and the output of each value's writer
	formCells   form = 9 // names, and for each the facts that have it, and their values
)

// allSame reports whether all values of the column are the same.
func (e *encoder) allSame(k kind) bool {
	switch k {
	case textKind, idKind:
		return repeats(e.texts)
	case intKind:
		return repeats(e.ints)
	case floatKind:
		for _, v := range e.floats {
			if math.Float64bits(v) != math.Float64bits(e.floats[0]) {
				return false
			}
		}
		return true
	case nestedKind:
		return e.nestedRepeats()
	}
	return false
}

func repeats[V comparable](values []V) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return true
}

// appendValues appends the values of the column; with flag same, only the first.
func (e *encoder) appendValues(b []byte, k kind, flags byte) ([]byte, form) {
	n := len(e.present)
	if flags&same != 0 {
		n = 1
	}
	switch k {
	case textKind, idKind:
		if k == idKind && flags&aside != 0 {
			return e.appendULIDs(b, e.ids[:n]), formULID
		}
		return e.appendTexts(b, e.texts[:n])
	case intKind:
		return appendInts(b, e.ints[:n])
	case floatKind:
		return e.appendFloats(b, e.floats[:n])
	case nestedKind:
		return e.appendNested(b, n), formNested
	case cellsKind:
		return e.appendCells(b), formCells
	}
	return b, formNone
}

// decode reads the values of a column, one for each fact that is present.
func (d *decoder) decode(k kind, f form, facts int) {
	n := len(d.present)
	if n == 0 {
		d.fail("it has no values")
		return
	}
	if d.one {
		n = 1
	}
	switch {
	case k == boolKind && f == formNone:
	case (k == textKind || k == idKind) && (f == formText || f == formTexts):
		d.readTexts(f, n)
	case k == idKind && f == formULID:
		d.readULIDs(n)
	case k == intKind && (f == formOffset || f == formDelta):
		d.readInts(f, n)
	case k == floatKind && (f == formDecimal || f == formFloat):
		d.readFloats(f, n)
	case k == nestedKind && f == formNested:
		d.openNested()
	case k == cellsKind && f == formCells:
		d.readCells(facts)
	default:
		d.newer = true
	}
	if d.one && !d.failed() {
		d.repeat(k)
	}
}

// repeat sets the single value that was read for all facts.
func (d *decoder) repeat(k kind) {
	for range d.present[1:] {
		switch k {
		case textKind, idKind:
			d.texts = append(d.texts, d.texts[0])
		case intKind:
			d.ints = append(d.ints, d.ints[0])
		case floatKind:
			d.floats = append(d.floats, d.floats[0])
		}
	}
}
