package block

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Limits of a block. A reader rejects anything beyond, so that damaged or hostile bytes cannot take
// more memory.
const (
	MaxFacts = 4096    // facts in a block
	MaxBytes = 4 << 20 // size in bytes of all columns, before compression

	// maxElements limits the elements of the lists and maps, and the texts of a dictionary, in one
	// column.
	maxElements = 1 << 18
)

var (
	// ErrCorrupt is returned for a body that is damaged, or that no version of this package has written.
	ErrCorrupt = errors.New("block: corrupt")
	// ErrVersion is returned for a body that only a newer version can read.
	ErrVersion = errors.New("block: written by a newer version; upgrade to read it")
	// ErrTooLarge is returned for facts that exceed the limits of a block.
	ErrTooLarge = errors.New("block: too large")
)

// Schema defines how facts of type T become columns. It is safe for concurrent use.
type Schema[T any] struct {
	kind    byte
	columns []Column[T] // by number
	index   [256]uint8  // index of a column by its number, plus one; 0: no such column
}

// maxColumns is the maximum number of columns that index can address.
const maxColumns = 255

// New returns the schema of the given columns, in any order. The kind is stored in each body, so that facts of one kind
// are never read as facts of another. New panics if two columns have the same number.
func New[T any](kind byte, columns ...Column[T]) *Schema[T] {
	s := &Schema[T]{kind: kind, columns: slices.Clone(columns)}
	if len(columns) > maxColumns {
		panic(fmt.Sprintf("block: %d columns, at most %d are allowed", len(columns), maxColumns))
	}
	slices.SortFunc(s.columns, func(a, b Column[T]) int { return cmp.Compare(a.number, b.number) })
	for i, c := range s.columns {
		if s.index[c.number] != 0 {
			panic(fmt.Sprintf("block: two columns have the number %d", c.number))
		}
		s.index[c.number] = uint8(i + 1)
	}
	return s
}

// Append appends the body of a block with the given facts to dst. The same facts make the same bytes. Errors:
// ErrTooLarge, for more than MaxFacts facts or MaxBytes bytes; dst is returned unchanged then.
func (s *Schema[T]) Append(dst []byte, facts []T) ([]byte, error) {
	if len(facts) > MaxFacts {
		return dst, fmt.Errorf("%w: %d facts, at most %d fit", ErrTooLarge, len(facts), MaxFacts)
	}
	e := encoders.Get().(*encoder)
	defer e.release()
	for i := range s.columns {
		c := &s.columns[i]
		e.begin()
		c.gather(e, facts)
		if len(e.present) > 0 {
			e.column(c.number, c.flags, c.kind, len(facts))
		}
		if e.elements > maxElements || e.bytes() > MaxBytes {
			return dst, fmt.Errorf("%w: %d facts have more than %d bytes or %d elements", ErrTooLarge, len(facts), MaxBytes, maxElements)
		}
	}
	return e.appendBody(dst, s.kind, len(facts)), nil
}

// Decode appends the facts of a body to dst, in order. Fields that are not columns are zero. If
// column numbers are given, only these columns are decoded, and the other fields are zero, too. The
// texts of a fact share memory with those of the block's other facts: clone the few that are kept
// for long. Errors: ErrCorrupt, ErrVersion; dst is returned unchanged then.
func (s *Schema[T]) Decode(dst []T, body []byte, only ...byte) ([]T, error) {
	return s.decode(dst, body, Want[T]{}, only)
}

// Want selects the cells to decode; others cost little. The zero value selects all.
type Want[T any] struct {
	Name string // of the cells; "" for any name
	// Fact reports whether the cells of a fact are wanted. Columns with lower numbers than that of
	// the cells are already set. nil: all facts.
	Fact func(*T) bool
}

// DecodeSome decodes all columns, but only the cells that are wanted.
func (s *Schema[T]) DecodeSome(dst []T, body []byte, want Want[T]) ([]T, error) {
	return s.decode(dst, body, want, nil)
}

func (s *Schema[T]) decode(dst []T, body []byte, want Want[T], only []byte) ([]T, error) {
	d := decoders.Get().(*decoder)
	defer d.release()
	h := &d.head
	if err := h.parse(body); err != nil {
		return dst, err
	}
	if h.Kind != s.kind {
		return dst, fmt.Errorf("%w: facts of kind %d, not of kind %d", ErrCorrupt, h.Kind, s.kind)
	}
	d.wanted = want.Name
	if err := d.open(s.needsPacked(h, only)); err != nil {
		return dst, err
	}
	out := slices.Grow(dst, h.Facts)[:len(dst)+h.Facts]
	facts := out[len(dst):]
	clear(facts)
	for i := range h.columns {
		if err := s.decodeColumn(d, &h.columns[i], facts, want.Fact, only); err != nil {
			clear(facts)
			return dst, err
		}
	}
	return out, nil
}

// needsPacked reports whether the wanted columns include some that are not set aside.
func (s *Schema[T]) needsPacked(h *head, only []byte) bool {
	return len(only) == 0 || slices.ContainsFunc(h.columns, func(c column) bool { return c.flags&aside == 0 && slices.Contains(only, c.number) })
}

// decodeColumn decodes a column into the facts.
func (s *Schema[T]) decodeColumn(d *decoder, stored *column, facts []T, wanted func(*T) bool, only []byte) error {
	data := d.take(stored)
	known := s.index[stored.number]
	switch {
	case known == 0 && stored.flags&skippable == 0:
		return fmt.Errorf("%w: it has a column %d", ErrVersion, stored.number)
	case known == 0 || len(only) > 0 && !slices.Contains(only, stored.number):
		return nil
	}
	c := &s.columns[known-1]
	d.begin(stored, data, len(facts))
	d.unwanted = d.unwanted[:0]
	if c.kind == cellsKind && wanted != nil {
		for i := range facts {
			d.unwanted = append(d.unwanted, !wanted(&facts[i]))
		}
	}
	d.decode(c.kind, stored.form, len(facts))
	if !d.failed() {
		c.scatter(d, facts)
	}
	return d.err(stored)
}
