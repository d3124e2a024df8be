package inspect

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/row"
)

// Size is the size of a set of rows.
type Size struct {
	Name  string `json:"name,omitempty"`
	Rows  int64  `json:"rows"`  // items, entries or records; -1 if not counted
	Bytes int64  `json:"bytes"` // items and entries by DynamoDB's rule, others as keys and values; -1 if not counted
	Disk  int64  `json:"disk"`  // estimated size in files, compressed; excludes rows still in memory
}

// TableSize is the size of a table.
type TableSize struct {
	Size
	Indexes []Size `json:"indexes,omitempty"`
	Expiry  Size   `json:"expiry"`
}

// Sizes is the size of a store.
type Sizes struct {
	Tables  []TableSize `json:"tables"`  // by name
	Streams []Size      `json:"streams"` // by name, which consists of the table's name and the stream's label
	Tokens  Size        `json:"tokens"`
	Catalog Size        `json:"catalog"`
}

// Disk estimates the size in files of the rows from lower to below upper.
type Disk func(lower, upper []byte) (uint64, error)

// measurer measures rows.
type measurer struct {
	*reader
	disk  Disk
	count bool
}

// Measure returns the sizes of everything. It reads all rows if count is set, otherwise almost
// none.
func Measure(ctx context.Context, source Source, disk Disk, count bool) (s *Sizes, err error) {
	r, err := newReader(ctx, source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	m := &measurer{r, disk, count}
	s = new(Sizes)
	if err := m.measureTables(s); err != nil {
		return nil, err
	}
	if err := m.measureStreams(s); err != nil {
		return nil, err
	}
	if s.Tokens, err = m.size("", []byte{row.SpaceToken}, []byte{row.SpaceTokenTime + 1}, stored); err != nil {
		return nil, err
	}
	s.Catalog, err = m.size("", []byte{row.SpaceMeta}, []byte{row.SpaceStream + 1}, stored)
	return s, err
}

// stored returns the size of a row in bytes.
func stored(key, value []byte) int { return len(key) + len(value) }

// sized returns the size of the item in a row by DynamoDB's rule.
func sized(_, value []byte) int { return row.Size(value) }

func (m *measurer) size(name string, lower, upper []byte, bytes func(key, value []byte) int) (Size, error) {
	s := Size{Name: name, Rows: -1, Bytes: -1}
	disk, err := m.disk(lower, upper)
	if err != nil {
		return s, fmt.Errorf("inspect: measure: %w", err)
	}
	s.Disk = int64(disk)
	if !m.count {
		return s, nil
	}
	s.Rows, s.Bytes = 0, 0
	return s, m.each(lower, upper, func(key, value []byte) error {
		s.Rows++
		s.Bytes += int64(bytes(key, value))
		return nil
	})
}

func (m *measurer) measureTables(s *Sizes) error {
	return m.each([]byte{row.SpaceTable}, []byte{row.SpaceTable + 1}, func(_, value []byte) error {
		d, err := catalog.DecodeTable(value)
		if err != nil {
			return err
		}
		prefix := row.AppendItemPrefix(nil, d.ID)
		t := TableSize{}
		if t.Size, err = m.size(d.Name, prefix, row.UpperBound(prefix), sized); err != nil {
			return err
		}
		for _, x := range d.Indexes {
			prefix := row.AppendIndexPrefix(nil, d.ID, x.ID)
			size, err := m.size(x.Name, prefix, row.UpperBound(prefix), sized)
			if err != nil {
				return err
			}
			t.Indexes = append(t.Indexes, size)
		}
		prefix = binary.BigEndian.AppendUint32([]byte{row.SpaceExpiry}, d.ID)
		if t.Expiry, err = m.size("", prefix, row.UpperBound(prefix), stored); err != nil {
			return err
		}
		s.Tables = append(s.Tables, t)
		return nil
	})
}

func (m *measurer) measureStreams(s *Sizes) error {
	err := m.each([]byte{row.SpaceStream}, []byte{row.SpaceStream + 1}, func(_, value []byte) error {
		d, err := catalog.DecodeStream(value)
		if err != nil {
			return err
		}
		prefix := binary.BigEndian.AppendUint32([]byte{row.SpaceRecord}, d.ID)
		size, err := m.size(d.Table+"/"+d.Label, prefix, row.UpperBound(prefix), stored)
		s.Streams = append(s.Streams, size)
		return err
	})
	slices.SortFunc(s.Streams, func(a, b Size) int { return cmp.Compare(a.Name, b.Name) })
	return err
}
