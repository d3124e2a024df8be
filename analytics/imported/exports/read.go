package exports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
)

// Table describes one table of an export.
type Table struct {
	File      string   `json:"file"`
	Format    Format   `json:"format,omitempty"`
	Table     string   `json:"table,omitempty"` // what the table counts
	Rows      int64    `json:"rows"`            // counted rows
	Malformed int64    `json:"malformed,omitempty"`
	From      string   `json:"from,omitempty"` // first day
	To        string   `json:"to,omitempty"`   // last day
	Ignored   []string `json:"ignored,omitempty"`
	Problem   string   `json:"problem,omitempty"` // why the table cannot be read

	layout *layout
}

// Contents describes an export.
type Contents struct {
	ID        string   `json:"id"` // hash of the content, independent of file names
	Format    Format   `json:"format"`
	Tables    []Table  `json:"tables"`
	Rows      int64    `json:"rows"`
	Malformed int64    `json:"malformed"`
	From      string   `json:"from"`
	To        string   `json:"to"`
	Shown     []string `json:"-"` // the first malformed rows, for people

	facts      map[string]int64      // number of facts by day
	measured   map[string]dimensions // by day
	dimensions map[Dimension]bool    // dimensions with facts
}

func newContents() *Contents {
	return &Contents{facts: map[string]int64{}, measured: map[string]dimensions{}, dimensions: map[Dimension]bool{}}
}

// Dimensions returns the counted or measured dimensions, including totals, in order.
func (c *Contents) Dimensions() []Dimension {
	var measured dimensions
	for _, s := range c.measured {
		measured |= s
	}
	all := slices.AppendSeq(measured.list(), maps.Keys(c.dimensions))
	slices.Sort(all)
	return slices.Compact(all)
}

// Days returns the days with counts or measurements, in order.
func (c *Contents) Days() []string { return slices.Sorted(maps.Keys(c.facts)) }

// Facts returns the number of facts of a day, an upper bound of its number of values.
func (c *Contents) Facts(day string) int64 { return c.facts[day] }

const (
	maxShown   = 5
	idBytes    = 10
	maxColumns = 200
)

// Inspect reads all tables and describes them. progress is called with the number of bytes just
// read; nil: not called. Errors: ErrFormat if there is nothing to import, ErrTooMuch, and those of
// the files.
func (e *Export) Inspect(ctx context.Context, progress func(bytes int64)) (*Contents, error) {
	c := newContents()
	left := e.limit()
	var sums []string
	for i := range e.members {
		m := &e.members[i]
		part, sum := newContents(), sha256.New()
		if err := m.read(ctx, &left, progress, sum, part.note(m)); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		content := string(sum.Sum(nil))
		if m.again = slices.Contains(sums, content); m.again {
			c.Tables = append(c.Tables, Table{File: m.name, Problem: "it is the same as another file"})
			continue
		}
		sums = append(sums, content)
		c.add(part)
	}
	slices.Sort(sums)
	all := sha256.Sum256([]byte(strings.Join(sums, "")))
	c.ID = hex.EncodeToString(all[:idBytes])
	if len(c.facts) == 0 {
		return c, fmt.Errorf("%w%s", ErrFormat, c.reasons())
	}
	if err := c.twice(); err != nil {
		return c, err
	}
	c.measure()
	for d := range c.facts {
		if c.From == "" || d < c.From {
			c.From = d
		}
		c.To = max(c.To, d)
	}
	return c, nil
}

// add adds the contents of a file.
func (c *Contents) add(part *Contents) {
	c.Tables = append(c.Tables, part.Tables...)
	c.Rows += part.Rows
	c.Malformed += part.Malformed
	c.Shown = append(c.Shown, part.Shown[:min(len(part.Shown), maxShown-len(c.Shown))]...)
	c.Format = cmp.Or(c.Format, part.Format)
	for day, n := range part.facts {
		c.facts[day] += n
	}
	for day, s := range part.measured {
		c.measured[day] |= s
	}
	maps.Copy(c.dimensions, part.dimensions)
}

// twice rejects tables that count the same dimension on the same days: their sums would be doubled.
func (c *Contents) twice() error {
	for i := range c.Tables {
		for j := range c.Tables[:i] {
			a, b := &c.Tables[j], &c.Tables[i]
			if a.Rows == 0 || b.Rows == 0 || a.Table != b.Table || a.To < b.From || b.To < a.From {
				continue
			}
			for _, what := range a.layout.metrics {
				if slices.Contains(slices.Collect(maps.Values(b.layout.metrics)), what) {
					return fmt.Errorf("%w: %s and %s have the same counts by %s for the same days: import only one of them, or merge them into one file", ErrFormat, a.File, b.File, a.Table)
				}
			}
		}
	}
	return nil
}

// reasons lists why tables cannot be read, as far as there is room.
func (c *Contents) reasons() string {
	var b strings.Builder
	for i := range c.Tables {
		if t := &c.Tables[i]; t.Problem != "" && i < maxShown {
			fmt.Fprintf(&b, "; %s: %s", t.File, t.Problem)
		}
	}
	for _, line := range c.Shown {
		fmt.Fprintf(&b, "; %s", line)
	}
	return b.String()
}

// note returns a visitor that counts the contents of a table.
func (c *Contents) note(m *member) visitor {
	var t *Table
	return visitor{
		table: func(l *layout, err error) {
			c.Tables = append(c.Tables, Table{File: m.name})
			t = &c.Tables[len(c.Tables)-1]
			if err != nil {
				t.Problem = reasonOf(err)
				return
			}
			t.Format, t.Table, t.Ignored, t.layout = l.format, l.table, l.ignored, l
			c.Format = cmp.Or(c.Format, l.format)
		},
		row: func(line int64, record []string, err error) {
			if err == nil {
				t.Rows++
				c.Rows++
				return
			}
			t.Malformed++
			c.Malformed++
			if len(c.Shown) < maxShown {
				c.Shown = append(c.Shown, fmt.Sprintf("%s line %d: %v: %q", m.name, line, err, clip(strings.Join(record, ","), 120)))
			}
		},
		day: func(day string) {
			if have := c.measured[day]; have|t.layout.measures != have {
				c.measured[day] |= t.layout.measures
				c.count(t, day, 0)
			}
		},
		fact: func(f Fact) error {
			c.count(t, f.Day, 1)
			if f.Day < m.last {
				m.mixed = true
			}
			m.last = f.Day
			c.dimensions[f.Dimension] = true
			return nil
		},
	}
}

// count adds facts of a day in a table; 0 only adds the day.
func (c *Contents) count(t *Table, day string, facts int64) {
	c.facts[day] += facts
	if t.From == "" || day < t.From {
		t.From = day
	}
	t.To = max(t.To, day)
}

// visitor receives the contents of a file.
type visitor struct {
	table func(l *layout, err error) // for each table, with the error if it cannot be read
	row   func(line int64, record []string, err error)
	day   func(day string) // for each row, before its facts
	fact  func(f Fact) error
}

// read reads a file.
func (m *member) read(ctx context.Context, left *int64, progress func(int64), sum hash.Hash, v visitor) (err error) {
	f, err := m.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var r io.Reader = &bounded{ctx, f, left, progress}
	if sum != nil {
		r = io.TeeReader(r, sum)
	}
	s := newSections(r)
	s.masks = m.masks
	any := false
	for {
		more, err := s.next()
		if err != nil || !more {
			if err == nil && !any {
				v.table(nil, notTable("the file is empty"))
			}
			return err
		}
		any = true
		if err := s.readTable(v); err != nil {
			return err
		}
	}
}

// readTable reads one table of a file.
func (s *sections) readTable(v visitor) error {
	first := s.line - 1
	r := csv.NewReader(s)
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	header, err := r.Read()
	if err != nil && s.err != nil && s.err != io.EOF {
		return s.err
	}
	if err != nil {
		v.table(nil, notTable("the first line names no columns: %w", err))
		return nil
	}
	if len(header) > maxColumns {
		v.table(nil, notTable("the first line has %d columns, more than %d", len(header), maxColumns))
		return nil
	}
	l, err := layoutOf(slices.Clone(header), s.comments)
	v.table(l, err)
	if err != nil {
		return nil
	}
	l.addresses = addressesIn(header)
	for {
		record, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if parse := (*csv.ParseError)(nil); err != nil && !errors.As(err, &parse) {
			return err
		}
		if err := s.row(l, record, v, first, err); err != nil {
			return err
		}
	}
}

// row processes one row of a table that starts after line first. malformed is its parse error, if
// any.
func (s *sections) row(l *layout, record []string, v visitor, first int64, malformed error) error {
	l.mask(s.masks, record)
	if parse := (*csv.ParseError)(nil); errors.As(malformed, &parse) {
		v.row(first+int64(parse.StartLine), record, parse.Err)
		return nil
	}
	if l.isTotal(record) {
		return nil
	}
	err := l.facts(record, v)
	if bad := (*rowError)(nil); err != nil && !errors.As(err, &bad) {
		return err
	}
	v.row(s.line, record, err)
	return nil
}

// isTotal reports whether a row has the totals of a table and no day, as in Google's exports.
func (l *layout) isTotal(record []string) bool {
	return l.format == GA4 && l.day < len(record) && strings.TrimSpace(record[l.day]) == ""
}
