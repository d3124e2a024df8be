package explore

import "strings"

// column holds a text for each of many things, such as the path of each event. Each text is kept once, and named by as
// few bytes as will do. Its zero value is empty texts, of however many things.
type column struct {
	values []string // distinct; the first is the empty text, which is there whether it occurs or not
	narrow []uint8  // place in values of each thing's text; of these three the first that is wide enough
	middle []uint16
	wide   []uint32
}

// at is the place in values of a thing's text.
func (c *column) at(i int) int {
	switch {
	case c.narrow != nil:
		return int(c.narrow[i])
	case c.middle != nil:
		return int(c.middle[i])
	case c.wide != nil:
		return int(c.wide[i])
	}
	return 0
}

// text is a thing's text.
func (c *column) text(i int) string {
	if len(c.values) == 0 {
		return ""
	}
	return c.values[c.at(i)]
}

// find is the place of a text in values; -1 if it does not occur.
func (c *column) find(text string) int {
	for i, v := range c.values {
		if v == text {
			return i
		}
	}
	return -1
}

const (
	textBytes   = 16 // of a string, without its text
	fewTexts    = 8  // that are looked for one by one
	narrowTexts = 1 << 8
	middleTexts = 1 << 16
)

// size is how many bytes it takes.
func (c *column) size() int {
	n := len(c.narrow) + 2*len(c.middle) + 4*len(c.wide)
	for _, v := range c.values {
		n += textBytes + len(v)
	}
	return n
}

// columnMaker makes a column of texts that come one after another.
type columnMaker struct {
	values []string
	places map[string]uint32 // of many values
	codes  []uint32
}

func (m *columnMaker) add(text string) { m.codes = append(m.codes, m.place(text)) }

// place finds a text among the values, and adds it if it is not there. It keeps a copy: a text that was read from the
// table shares its memory with others.
func (m *columnMaker) place(text string) uint32 {
	if text == "" {
		return 0
	}
	if m.places != nil {
		if place, known := m.places[text]; known {
			return place
		}
	} else {
		for i, v := range m.values {
			if v == text {
				return uint32(i + 1)
			}
		}
	}
	text = strings.Clone(text)
	m.values = append(m.values, text)
	place := uint32(len(m.values))
	switch {
	case m.places != nil:
		m.places[text] = place
	case len(m.values) > fewTexts:
		m.places = make(map[string]uint32, 4*fewTexts)
		for i, v := range m.values {
			m.places[v] = uint32(i + 1)
		}
	}
	return place
}

// column is what was added.
func (m *columnMaker) column() column {
	c := column{values: append(make([]string, 1, 1+len(m.values)), m.values...)}
	switch n := len(c.values); {
	case n == 1:
	case n <= narrowTexts:
		c.narrow = codes[uint8](m.codes)
	case n <= middleTexts:
		c.middle = codes[uint16](m.codes)
	default:
		c.wide = m.codes
	}
	return c
}

func codes[T uint8 | uint16](wide []uint32) []T {
	out := make([]T, len(wide))
	for i, n := range wide {
		out[i] = T(n)
	}
	return out
}
