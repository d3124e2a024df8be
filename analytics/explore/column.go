package explore

import "strings"

// column stores one text per row, such as the path of each event. Each distinct text is stored
// once, and rows refer to it with the narrowest possible index. The zero value has empty texts for
// any number of rows.
type column struct {
	values []string // distinct texts; the first is "", even if it does not occur
	narrow []uint8  // index in values by row; only the narrowest sufficient slice is set
	middle []uint16
	wide   []uint32
}

// at returns the index in values of row i.
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

// text returns the text of row i.
func (c *column) text(i int) string {
	if len(c.values) == 0 {
		return ""
	}
	return c.values[c.at(i)]
}

// find returns the index of a text in values, or -1.
func (c *column) find(text string) int {
	for i, v := range c.values {
		if v == text {
			return i
		}
	}
	return -1
}

const (
	textBytes   = 16 // size of a string header
	fewTexts    = 8  // up to which texts are searched linearly
	narrowTexts = 1 << 8
	middleTexts = 1 << 16
)

// size returns the memory size in bytes.
func (c *column) size() int {
	n := len(c.narrow) + 2*len(c.middle) + 4*len(c.wide)
	for _, v := range c.values {
		n += textBytes + len(v)
	}
	return n
}

// columnMaker builds a column row by row.
type columnMaker struct {
	values []string
	places map[string]uint32 // used once there are more than fewTexts values
	codes  []uint32
}

func (m *columnMaker) add(text string) { m.codes = append(m.codes, m.place(text)) }

// place returns the index of a text, and adds it if necessary. It stores a copy, because a text
// that was read from the table shares memory with other texts.
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

// column returns the finished column.
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
