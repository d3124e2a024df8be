package block

import (
	"math"
	"slices"
	"time"
)

// Column is a field of T: its number in the format, and how its values are stored. A zero value (an
// empty text, a nil pointer, list or map) takes a bit if other facts of the block have a value, and
// nothing if none has.
type Column[T any] struct {
	number byte
	flags  byte // skippable, or 0
	kind   kind
	// gather collects the facts with a value, and their values. scatter sets the values of the
	// facts that have one.
	gather  func(e *encoder, facts []T)
	scatter func(d *decoder, facts []T)
}

// Skippable returns the column marked so that readers that do not know it may skip it; otherwise
// they reject the body. Use it only for columns that are safe to ignore, such as one that merely
// explains another.
func (c Column[T]) Skippable() Column[T] {
	c.flags |= skippable
	return c
}

// Apart returns a column of texts that is stored apart from the others, uncompressed: reading it
// alone needs no decompression.
func (c Column[T]) Apart() Column[T] {
	c.flags |= aside
	return c
}

// integer is any integer type.
type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Text is a column of texts, of any bytes. Repeated texts are stored once per block.
func Text[T any, S ~string](number byte, at func(*T) *S) Column[T] {
	return texts(number, textKind, at)
}

// ID is a column of ULIDs of 26 characters, each of which takes 10 bytes and the difference of its
// time to the previous one. If the column of a block has other texts, it is stored as Text.
func ID[T any, S ~string](number byte, at func(*T) *S) Column[T] {
	return texts(number, idKind, at)
}

func texts[T any, S ~string](number byte, kind kind, at func(*T) *S) Column[T] {
	return Column[T]{
		number: number, kind: kind,
		gather: func(e *encoder, facts []T) {
			for i := range facts {
				if v := *at(&facts[i]); v != "" {
					e.has(i)
					e.texts = append(e.texts, string(v))
				}
			}
		},
		scatter: func(d *decoder, facts []T) {
			for k, i := range d.present {
				*at(&facts[i]) = S(d.texts[k])
			}
		},
	}
}

// Int is a column of integers of any type. Small integers take a byte or two, as do those close to
// their predecessor.
func Int[T any, I integer](number byte, at func(*T) *I) Column[T] {
	return Column[T]{
		number: number, kind: intKind,
		gather: func(e *encoder, facts []T) {
			for i := range facts {
				if v := *at(&facts[i]); v != 0 {
					e.has(i)
					e.ints = append(e.ints, int64(v))
				}
			}
		},
		scatter: func(d *decoder, facts []T) {
			for k, i := range d.present {
				v := I(d.ints[k])
				if int64(v) != d.ints[k] {
					d.fail("a number is too large for its field")
					return
				}
				*at(&facts[i]) = v
			}
		},
	}
}

// IntOf is a column of integers that are not a field: get and set access them. Columns are set in
// the order of their numbers.
func IntOf[T any](number byte, get func(*T) int64, set func(*T, int64)) Column[T] {
	return Column[T]{
		number: number, kind: intKind,
		gather: func(e *encoder, facts []T) {
			for i := range facts {
				if v := get(&facts[i]); v != 0 {
					e.has(i)
					e.ints = append(e.ints, v)
				}
			}
		},
		scatter: func(d *decoder, facts []T) {
			for k, i := range d.present {
				set(&facts[i], d.ints[k])
			}
		},
	}
}

// TextOf is a column of texts that are not a field, like IntOf.
func TextOf[T any](number byte, get func(*T) string, set func(*T, string)) Column[T] {
	return Column[T]{
		number: number, kind: textKind,
		gather: func(e *encoder, facts []T) {
			for i := range facts {
				if v := get(&facts[i]); v != "" {
					e.has(i)
					e.texts = append(e.texts, v)
				}
			}
		},
		scatter: func(d *decoder, facts []T) {
			for k, i := range d.present {
				set(&facts[i], d.texts[k])
			}
		},
	}
}

// Time is a column of times in milliseconds. Finer parts are cut off. Times are decoded in UTC.
func Time[T any](number byte, at func(*T) *time.Time) Column[T] {
	return Column[T]{
		number: number, kind: intKind,
		gather: func(e *encoder, facts []T) {
			for i := range facts {
				if v := *at(&facts[i]); !v.IsZero() {
					e.has(i)
					e.ints = append(e.ints, v.UnixMilli())
				}
			}
		},
		scatter: func(d *decoder, facts []T) {
			for k, i := range d.present {
				*at(&facts[i]) = time.UnixMilli(d.ints[k]).UTC()
			}
		},
	}
}

// Bool is a column of booleans of one bit each.
func Bool[T any, B ~bool](number byte, at func(*T) *B) Column[T] {
	return Column[T]{
		number: number, kind: boolKind,
		gather: func(e *encoder, facts []T) {
			for i := range facts {
				if *at(&facts[i]) {
					e.has(i)
				}
			}
		},
		scatter: func(d *decoder, facts []T) {
			for _, i := range d.present {
				*at(&facts[i]) = true
			}
		},
	}
}

// Float is a column of floating-point numbers, stored exactly. Numbers with few decimal places are
// small.
func Float[T any](number byte, at func(*T) *float64) Column[T] {
	return Column[T]{
		number: number, kind: floatKind,
		gather: func(e *encoder, facts []T) {
			for i := range facts {
				if v := *at(&facts[i]); math.Float64bits(v) != 0 {
					e.has(i)
					e.floats = append(e.floats, v)
				}
			}
		},
		scatter: func(d *decoder, facts []T) {
			for k, i := range d.present {
				*at(&facts[i]) = d.floats[k]
			}
		},
	}
}

// OptionalFloat is a column like Float in which numbers may be missing: nil differs from 0.
func OptionalFloat[T any](number byte, at func(*T) **float64) Column[T] {
	return Column[T]{
		number: number, kind: floatKind,
		gather: func(e *encoder, facts []T) {
			for i := range facts {
				if v := *at(&facts[i]); v != nil {
					e.has(i)
					e.floats = append(e.floats, *v)
				}
			}
		},
		scatter: func(d *decoder, facts []T) {
			values := slices.Clone(d.floats)
			for k, i := range d.present {
				*at(&facts[i]) = &values[k]
			}
		},
	}
}

// Nested is a column of values that the other kinds cannot hold, such as lists of structs. write
// stores the value of a fact, part by part; read reads the same parts and sets the field. For a zero
// value, write must write nothing, and read is not called.
func Nested[T any](number byte, write func(*Writer, *T), read func(*Reader, *T)) Column[T] {
	return Column[T]{
		number: number, kind: nestedKind,
		gather: func(e *encoder, facts []T) {
			for i := range facts {
				before := len(e.nested.b)
				write(&e.nested, &facts[i])
				if len(e.nested.b) > before {
					e.has(i)
					e.ends = append(e.ends, len(e.nested.b))
				}
			}
		},
		scatter: func(d *decoder, facts []T) {
			for k, i := range d.present {
				if d.one && k > 0 {
					d.nested.again()
				}
				read(&d.nested, &facts[i])
			}
			d.closeNested()
		},
	}
}

// TextList is a column of lists of texts. A nil list stays nil, and an empty one empty.
func TextList[T any](number byte, at func(*T) *[]string) Column[T] {
	return Nested(number, func(w *Writer, fact *T) {
		list := *at(fact)
		if list == nil {
			return
		}
		w.Count(len(list))
		for _, s := range list {
			w.Text(s)
		}
	}, func(r *Reader, fact *T) {
		list := make([]string, r.Count())
		for i := range list {
			list[i] = r.Text()
		}
		*at(fact) = list
	})
}

// TextMap is a column of maps from texts to texts. A nil map stays nil, and an empty one empty.
func TextMap[T any](number byte, at func(*T) *map[string]string) Column[T] {
	return Nested(number, func(w *Writer, fact *T) {
		m := *at(fact)
		if m == nil {
			return
		}
		w.Count(len(m))
		w.keys = w.keys[:0]
		for name := range m {
			w.keys = append(w.keys, name)
		}
		slices.Sort(w.keys)
		for _, name := range w.keys {
			w.Text(name)
			w.Text(m[name])
		}
	}, func(r *Reader, fact *T) {
		n := r.Count()
		m := make(map[string]string, n)
		for range n {
			name := r.Text()
			m[name] = r.Text()
		}
		*at(fact) = m
	})
}
