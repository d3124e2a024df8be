package block

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A Cell is one named value of a fact, in a Cells column.
type Cell struct {
	Name string
	Kind byte // type of the value, defined by the package that stores the facts
	Text string
}

// Cells is a column of named values, such as the readings of sensors. Names differ from block to
// block, but most facts of a block have the same ones. All values of one name and kind are stored
// together, like a column. Decimal numbers with few digits are stored as small integers, other
// values as texts. each passes the cells of a fact, with distinct names, to cell; set receives one
// of the n cells of a fact.
//
// A block has at most 262,144 cells.
func Cells[T any](number byte, each func(fact *T, cell func(Cell)), set func(fact *T, n int, c Cell)) Column[T] {
	return Column[T]{
		number: number, kind: cellsKind,
		gather: func(e *encoder, facts []T) {
			e.cells.reset()
			for i := range facts {
				before := e.cells.count
				each(&facts[i], func(c Cell) { e.cells.add(i, c) })
				if e.cells.count > before {
					e.has(i)
				}
			}
			e.cells.facts = len(facts)
		},
		scatter: func(d *decoder, facts []T) {
			for _, s := range d.series {
				for k, i := range s.present {
					if !d.skips(i) {
						set(&facts[i], int(d.cellsOf[i]), Cell{s.name, s.kind, s.texts[k]})
					}
				}
			}
		},
	}
}

// series is a name and kind of a Cells column, with the facts that have it and their values.
type series struct {
	name    string
	kind    byte
	present []uint16
	texts   []string
}

// gathered collects the cells of a column.
type gathered struct {
	series []series // in order of first occurrence
	count  int      // number of cells
	facts  int      // number of facts in the block
	at     map[seriesName]int
	next   int // the series expected next, after that of the last cell
}

type seriesName struct {
	name string
	kind byte
}

func (g *gathered) reset() {
	for i := range g.series {
		s := &g.series[i]
		clear(s.texts)
		s.name, s.present, s.texts = "", s.present[:0], s.texts[:0]
	}
	g.series, g.count, g.next = g.series[:0], 0, 0
	clear(g.at)
}

// add adds a cell of fact i.
func (g *gathered) add(i int, c Cell) {
	n := g.next
	if n >= len(g.series) || g.series[n].name != c.Name || g.series[n].kind != c.Kind {
		n = g.find(c)
	}
	g.next = n + 1
	s := &g.series[n]
	s.present, s.texts = append(s.present, uint16(i)), append(s.texts, c.Text)
	g.count++
}

// find returns the series of a cell, a new one if there is none.
func (g *gathered) find(c Cell) int {
	key := seriesName{c.Name, c.Kind}
	if n, found := g.at[key]; found {
		return n
	}
	n := len(g.series)
	if n < cap(g.series) {
		g.series = g.series[:n+1]
	} else {
		g.series = append(g.series, series{})
	}
	g.series[n].name, g.series[n].kind = c.Name, c.Kind
	if g.at == nil {
		g.at = make(map[seriesName]int)
	}
	g.at[key] = n
	return n
}

// appendCells appends the cells: the dictionary of names; the number of series; the name, kind,
// flags and form of each; then which facts have it; then its values.
func (e *encoder) appendCells(b []byte) []byte {
	g := &e.cells
	slices.SortFunc(g.series, func(a, b series) int {
		if a.name != b.name {
			return compareTexts(a.name, b.name)
		}
		return int(a.kind) - int(b.kind)
	})
	clear(g.at) // its indexes are those before sorting
	e.references = e.references[:0]
	values, names := e.seriesValues[:0], -1
	for i := range g.series {
		s := &g.series[i]
		if i == 0 || s.name != g.series[i-1].name {
			names++
		}
		flags := byte(0)
		if len(s.present) < g.facts {
			flags |= sparse
		}
		if len(s.present) > 1 && repeats(s.texts) {
			flags |= same
		}
		var f form
		values, f = e.appendSeries(values, s, flags)
		e.references = binary.AppendUvarint(e.references, uint64(names))
		e.references = append(e.references, s.kind, flags|byte(f))
	}
	e.seriesValues = values
	b = e.cellNames(b)
	b = binary.AppendUvarint(b, uint64(len(g.series)))
	b = append(b, e.references...)
	for i := range g.series {
		if s := &g.series[i]; len(s.present) < g.facts {
			b = appendPresent(b, s.present, g.facts)
		}
	}
	return append(b, values...)
}

// cellNames appends the dictionary of names. The values have their own dictionaries.
func (e *encoder) cellNames(b []byte) []byte {
	e.dictionary.reset(len(e.cells.series))
	for i := range e.cells.series {
		e.dictionary.number(e.cells.series[i].name)
	}
	return e.dictionary.append(b)
}

// appendSeries appends the values of a series; with flag same, only the first. Texts have a length,
// because others follow them.
func (e *encoder) appendSeries(b []byte, s *series, flags byte) ([]byte, form) {
	texts := s.texts
	if flags&same != 0 {
		texts = texts[:1]
	}
	if places, ok := e.decimals(texts); ok {
		b = append(b, byte(places), 0)
		at := len(b) - 1
		var f form
		b, f = appendInts(b, e.ints)
		b[at] = byte(f)
		return b, formDecimal
	}
	if len(texts) == 1 {
		b = binary.AppendUvarint(b, uint64(len(texts[0])))
		return append(b, texts[0]...), formText
	}
	names := e.references
	e.references = e.spareReferences
	b, f := e.appendTexts(b, texts)
	e.references, e.spareReferences = names, e.references
	return b, f
}

// decimals converts the texts to integers scaled by 10^places, if all are in the canonical form of
// such numbers.
func (e *encoder) decimals(texts []string) (places int, ok bool) {
	e.ints, e.places = e.ints[:0], e.places[:0]
	for _, s := range texts {
		n, p, ok := readDecimal(s)
		if !ok {
			return 0, false
		}
		e.ints, e.places = append(e.ints, n), append(e.places, uint8(p))
		places = max(places, p)
	}
	for i, p := range e.places {
		e.ints[i] *= int64(powers[places-int(p)])
	}
	return places, true
}

// maxDecimal is the maximum number of digits of a number that is stored as an integer. Scaled by up
// to maxPlaces decimal places, it still fits in 64 bits.
const maxDecimal = 12

// readDecimal parses a number if it is written exactly as appendDecimal would write it.
func readDecimal(s string) (n int64, places int, ok bool) {
	digits := s
	negative := s != "" && s[0] == '-'
	if negative {
		digits = s[1:]
	}
	if len(digits) == 0 || len(digits) > maxDecimal {
		return 0, 0, false
	}
	point := -1
	for i := range len(digits) {
		switch c := digits[i]; {
		case c == '.' && point < 0:
			point = i
		case c < '0' || c > '9':
			return 0, 0, false
		default:
			n = n*10 + int64(c-'0')
		}
	}
	whole := digits
	if point >= 0 {
		whole, places = digits[:point], len(digits)-point-1
	}
	plain := whole != "" && (whole[0] != '0' || whole == "0") && places <= maxPlaces && (point < 0 || places > 0 && digits[len(digits)-1] != '0')
	if negative {
		n = -n
		plain = plain && n != 0
	}
	return n, places, plain
}

// appendDecimal writes n / 10^places without trailing zeros.
func appendDecimal(b []byte, n int64, places int) []byte {
	for places > 0 && n%10 == 0 {
		n, places = n/10, places-1
	}
	var text [1 + 19 + 1]byte // sign, digits, point
	at := len(text)
	for u, digits := uint64(max(n, -n)), 0; u > 0 || digits <= places; u, digits = u/10, digits+1 {
		if digits == places && digits > 0 {
			at--
			text[at] = '.'
		}
		at--
		text[at] = '0' + byte(u%10)
	}
	if n < 0 {
		at--
		text[at] = '-'
	}
	return append(b, text[at:]...)
}

// readCells reads the series of a column.
func (d *decoder) readCells(facts int) {
	d.dictionary = readDictionary(&d.r, d.dictionary[:0], maxElements)
	n := d.r.Count()
	if n > maxElements {
		d.fail("it has too many series")
		return
	}
	d.series = slices.Grow(d.series[:0], n)[:n]
	d.forms = slices.Grow(d.forms[:0], n)[:n]
	for i := range d.series {
		name, head := d.r.Uint(), d.r.Bytes(2)
		if head == nil || name >= uint64(len(d.dictionary)) {
			d.fail("a series has no name")
			return
		}
		d.series[i].name, d.series[i].kind, d.forms[i] = d.dictionary[name], head[0], head[1]
	}
	if !d.readPresence(facts) {
		return
	}
	for i := range d.series {
		if d.readSeries(&d.series[i], d.forms[i]); d.failed() {
			return
		}
	}
}

// readPresence reads which facts have the series, and counts the cells of each fact.
func (d *decoder) readPresence(facts int) bool {
	d.cellsOf = slices.Grow(d.cellsOf[:0], facts)[:facts]
	clear(d.cellsOf)
	total := 0
	for i := range d.series {
		s := &d.series[i]
		s.present = s.present[:0]
		if d.forms[i]&sparse == 0 {
			s.present = append(s.present, every[:facts]...)
		} else {
			for k, b := range d.r.Bytes(uint64(facts+7) / 8) {
				for ; b != 0; b &= b - 1 {
					s.present = append(s.present, uint16(k*8+bits.TrailingZeros8(b)))
				}
			}
		}
		if n := len(s.present); n == 0 || int(s.present[n-1]) >= facts {
			d.fail("a series has other facts")
			return false
		}
		if total += len(s.present); total > maxElements {
			d.fail("it has too many cells")
			return false
		}
		for _, k := range s.present {
			d.cellsOf[k]++
		}
	}
	return !d.r.Failed()
}

// readSeries reads the values of a series.
func (d *decoder) readSeries(s *series, flags byte) {
	n := len(s.present)
	if flags&same != 0 {
		n = 1
	}
	s.texts = s.texts[:0]
	unwanted := d.wanted != "" && s.name != d.wanted
	switch f := form(flags & formBits); f {
	case formDecimal:
		d.readDecimals(s, n, unwanted)
	case formText:
		if n != 1 {
			d.fail("a series has one text for many facts")
			return
		}
		s.texts = append(s.texts, string(d.r.Bytes(d.r.Uint())))
	case formTexts:
		d.readTexts(f, n)
		s.texts = append(s.texts, d.texts...)
	default:
		d.newer = true
		return
	}
	if unwanted {
		s.present, s.texts = s.present[:0], s.texts[:0]
		return
	}
	for len(s.texts) < len(s.present) && len(s.texts) > 0 {
		s.texts = append(s.texts, s.texts[0])
	}
	if len(s.texts) < len(s.present) {
		d.fail("a series is cut short")
	}
}

// readDecimals reads n numbers. Their texts share memory.
func (d *decoder) readDecimals(s *series, n int, unwanted bool) {
	head := d.r.Bytes(2)
	if head == nil || head[0] > maxPlaces || form(head[1]) != formOffset && form(head[1]) != formDelta {
		d.fail("the decimal places of a series make no sense")
		return
	}
	if unwanted {
		d.skipInts(form(head[1]), n)
		return
	}
	d.readInts(form(head[1]), n)
	d.digits, d.ends = d.digits[:0], d.ends[:0]
	for k, v := range d.ints {
		if n == 1 || !d.skips(s.present[k]) { // a single number may be the shared value of all facts
			d.digits = appendDecimal(d.digits, v, int(head[0]))
		}
		d.ends = append(d.ends, len(d.digits))
	}
	all, start := string(d.digits), 0
	for _, end := range d.ends {
		s.texts = append(s.texts, all[start:end])
		start = end
	}
}

// skips reports whether the cells of a fact are not wanted.
func (d *decoder) skips(fact uint16) bool { return len(d.unwanted) > 0 && d.unwanted[fact] }

// compareTexts is strings.Compare.
func compareTexts(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
