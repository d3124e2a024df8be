package block_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/internal/block"
)

// thing is a fact with a column of each kind.
type thing struct {
	ID     string
	Text   label
	Small  int8
	Int    int64
	Uint   uint64
	Yes    bool
	Float  float64
	Maybe  *float64
	At     time.Time
	List   []string
	Map    map[string]string
	Pieces []piece
	Cells  map[string]value
}

// value is a value of a Cells column.
type value struct {
	Kind byte
	Text string
}

type label string

type piece struct {
	Name string
	N    int64
	Sort uint64 // at most 3
}

var things = block.New('t', thingColumns...)

var thingColumns = []block.Column[thing]{
	block.ID(1, func(t *thing) *string { return &t.ID }),
	block.Text(2, func(t *thing) *label { return &t.Text }),
	block.Int(3, func(t *thing) *int8 { return &t.Small }),
	block.Int(4, func(t *thing) *int64 { return &t.Int }),
	block.Int(5, func(t *thing) *uint64 { return &t.Uint }),
	block.Bool(6, func(t *thing) *bool { return &t.Yes }),
	block.Float(7, func(t *thing) *float64 { return &t.Float }),
	block.OptionalFloat(8, func(t *thing) **float64 { return &t.Maybe }),
	block.Time(9, func(t *thing) *time.Time { return &t.At }),
	block.TextList(10, func(t *thing) *[]string { return &t.List }),
	block.TextMap(200, func(t *thing) *map[string]string { return &t.Map }),
	block.Cells(201, eachCell, setCell),
	block.Nested(255, writePieces, readPieces).Skippable(),
}

func eachCell(t *thing, cell func(block.Cell)) {
	for _, name := range slices.Sorted(maps.Keys(t.Cells)) {
		cell(block.Cell{Name: name, Kind: t.Cells[name].Kind, Text: t.Cells[name].Text})
	}
}

func setCell(t *thing, n int, c block.Cell) {
	if t.Cells == nil {
		t.Cells = make(map[string]value, n)
	}
	t.Cells[c.Name] = value{c.Kind, c.Text}
}

func writePieces(w *block.Writer, t *thing) {
	if t.Pieces == nil {
		return
	}
	w.Count(len(t.Pieces))
	for _, p := range t.Pieces {
		w.Text(p.Name)
		w.Int(p.N)
		w.Uint(p.Sort)
	}
}

func readPieces(r *block.Reader, t *thing) {
	t.Pieces = make([]piece, r.Count())
	for i := range t.Pieces {
		p := &t.Pieces[i]
		p.Name, p.N, p.Sort = r.Text(), r.Int(), r.Uint()
		if p.Sort > 3 {
			r.Fail()
		}
	}
}

// said formats a thing so that all distinct things differ: NaNs by their bits, nil and empty.
func said(t thing) string {
	maybe := "nil"
	if t.Maybe != nil {
		maybe = fmt.Sprintf("%x", math.Float64bits(*t.Maybe))
	}
	number := math.Float64bits(t.Float)
	t.Float, t.Maybe = 0, nil
	return fmt.Sprintf("%#v %x %s", t, number, maybe)
}

func allSaid(ts []thing) (out []string) {
	for i := range ts {
		out = append(out, said(ts[i]))
	}
	return out
}

// someThings returns n things of every sort, always the same ones.
func someThings(n int) []thing {
	out := make([]thing, n)
	for i := range out {
		t := &out[i]
		t.ID = fmt.Sprintf("01HZX%08X5Z5Z5Z5Z5Z5Z5", 0x1000+17*i)[:26]
		t.Text = label(fmt.Sprintf("/page/%d", i*i%7))
		t.Small, t.Int, t.Uint = int8(i), int64(i)*1e6-5, uint64(1)<<(i%64)
		t.Yes, t.Float, t.At = i%3 == 0, float64(i)/10, time.UnixMilli(1778594400250+int64(i)*1003).UTC()
		switch i % 4 {
		case 0:
			t.Maybe, t.List = new(math.Sqrt(float64(i))), []string{"a", "", string(t.Text)}
		case 1:
			t.Map, t.Pieces = map[string]string{"plan": "team", "seats": fmt.Sprint(i)}, []piece{{"x", -int64(i), 0}, {"y", 1, 3}}
		case 2:
			t.List, t.Map, t.Pieces = []string{}, map[string]string{}, []piece{}
		}
	}
	return out
}

// thingsWithCells returns n things of every sort with cells: a number, a text, one that few facts
// have, and one that changes its kind.
func thingsWithCells(n int) []thing {
	out := someThings(n)
	for i := range out {
		t := &out[i]
		t.Cells = map[string]value{"temperature": {1, fmt.Sprintf("%d.%d", 20+i%3, 1+i%9)}, "door": {2, []string{"open", "closed"}[i%2]}}
		if i%5 == 0 {
			t.Cells["humidity"] = value{1, fmt.Sprint(-i)}
		}
		t.Cells["mode"] = value{byte(1 + i%2), fmt.Sprint(i)}
	}
	return out
}

// anyNumber draws numbers in canonical form, and texts that are almost numbers.
var anyNumber = rapid.OneOf(rapid.StringMatching(`-?[0-9]{1,14}`), rapid.StringMatching(`-?[0-9]{1,6}\.[0-9]{0,10}`),
	rapid.SampledFrom([]string{"0", "-0", "00", "0.0", ".5", "5.", "-", "1e9", "1.50", "999999999999", "-999999999999", "0.000001", "99999.9999999"}))

// Values that once caused failures.
var (
	hostileText = rapid.SampledFrom([]string{"", "\x00", "\xff\xfe", "a", "é", "01KDWD4ZX5DRT0Q77ZPDX9H755", "01kdwd4zx5drt0q77zpdx9h755",
		"8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "00000000000000000000000000", string(make([]byte, 300))})
	anyText  = rapid.OneOf(hostileText, rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	anyFloat = rapid.OneOf(rapid.Float64(), rapid.Map(rapid.IntRange(-1e6, 1e6), func(n int) float64 { return float64(n) / 1000 }),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0x7ff8000000000123), math.Inf(1), math.Inf(-1),
			math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 1<<53 + 2, 0.1, 0.30000000000000004}))
	anyInt = rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 300), rapid.SampledFrom([]int64{0, math.MinInt64, math.MaxInt64}))
	anyID  = rapid.OneOf(rapid.StringMatching(`[0-7][0-9A-HJKMNP-TV-Z]{25}`), hostileText)
	anyAt  = rapid.OneOf(rapid.Just(time.Time{}), rapid.Map(rapid.Int64Range(-1e14, 1e15), func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }))
)

// anyThings draws things. Each column draws from few values, from many, or always the same.
func anyThings(t *rapid.T) []thing {
	out := make([]thing, rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 300)).Draw(t, "facts"))
	column(t, out, anyID, func(th *thing, v string) { th.ID = v })
	column(t, out, anyText, func(th *thing, v string) { th.Text = label(v) })
	column(t, out, rapid.Int8(), func(th *thing, v int8) { th.Small = v })
	column(t, out, anyInt, func(th *thing, v int64) { th.Int = v })
	column(t, out, anyInt, func(th *thing, v int64) { th.Uint = uint64(v) })
	column(t, out, rapid.Bool(), func(th *thing, v bool) { th.Yes = v })
	column(t, out, anyFloat, func(th *thing, v float64) { th.Float = v })
	column(t, out, rapid.Ptr(anyFloat, true), func(th *thing, v *float64) { th.Maybe = v })
	column(t, out, anyAt, func(th *thing, v time.Time) { th.At = v })
	lists := rapid.OneOf(rapid.Just([]string(nil)), rapid.SliceOfN(anyText, 0, 4))
	column(t, out, lists, func(th *thing, v []string) { th.List = v })
	maps := rapid.OneOf(rapid.Just(map[string]string(nil)), rapid.MapOfN(anyText, anyText, 0, 4))
	column(t, out, maps, func(th *thing, v map[string]string) { th.Map = v })
	cells := rapid.OneOf(rapid.Just(map[string]value(nil)), rapid.Custom(func(t *rapid.T) map[string]value {
		names := rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "c"}), anyText)
		return rapid.MapOfN(names, rapid.Custom(func(t *rapid.T) value {
			return value{rapid.Byte().Draw(t, "kind") % 4, rapid.OneOf(anyNumber, anyText).Draw(t, "text")}
		}), 1, 5).Draw(t, "cells")
	}))
	column(t, out, cells, func(th *thing, v map[string]value) { th.Cells = v })
	pieces := rapid.OneOf(rapid.Just([]piece(nil)), rapid.SliceOfN(rapid.Custom(func(t *rapid.T) piece {
		return piece{anyText.Draw(t, "name"), anyInt.Draw(t, "n"), rapid.Uint64Range(0, 3).Draw(t, "sort")}
	}), 0, 3))
	column(t, out, pieces, func(th *thing, v []piece) { th.Pieces = v })
	return out
}

func column[V any](t *rapid.T, out []thing, values *rapid.Generator[V], set func(*thing, V)) {
	few := rapid.SliceOfN(values, 1, 8).Draw(t, "values")
	pattern := rapid.SliceOfN(rapid.IntRange(0, len(few)-1), 1, 16).Draw(t, "pattern")
	for i := range out {
		set(&out[i], few[pattern[i%len(pattern)]])
	}
}
