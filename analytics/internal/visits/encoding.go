package visits

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/onefold/onefold/analytics/internal/dimension"
	"github.com/onefold/onefold/internal/varint"
)

// ErrMalformed is returned when stored visits cannot be decoded.
var ErrMalformed = errors.New("visits: not a visitor's visits")

// The visits of a visitor's day are encoded together; each distinct text is stored once. See
// docs/format/analytics.md:
//
//	version
//	uvarint  number of texts, and for each:  uvarint length, bytes
//	for each visit until the end:
//	  varint   start, epoch milliseconds
//	  uvarint  end - start
//	  varint   custom events
//	  uvarint  number of hours, and for each:  varint hour/60 - previous hour/60, varint page views
//	  uvarint  number of pages, and for each:  uvarint text
//	  uvarint  texts, in the order of the variable texts
//	  uvarint  number of goals, and for each:  uvarint goal, uvarint once, uvarint value, varint events, uvarint revenue
//
// A text is referred to by its position in the list, from 1; 0 is the empty text. Version 2 has
// leastTexts texts a visit, and each later version one more. The oldest version that holds all texts
// is written, so that equal visits have equal bytes, also if a dimension has been added since.
const (
	version    = 2
	leastTexts = 26
)

// texts are a visit's texts in the order of the encoding.
var texts = func() []func(*Visit) *string {
	all := []func(*Visit) *string{
		func(v *Visit) *string { return &v.FirstID },
		func(v *Visit) *string { return &v.Own },
		func(v *Visit) *string { return &v.Entry.Path },
		func(v *Visit) *string { return &v.Entry.ID },
		func(v *Visit) *string { return &v.Exit.Path },
		func(v *Visit) *string { return &v.Exit.ID },
		func(v *Visit) *string { return &v.Revenue },
		func(v *Visit) *string { return &v.UserID },
		func(v *Visit) *string { return &v.UserAt },
	}
	for _, d := range Dimensions {
		if d.Name != dimension.EntryPage && d.Name != dimension.ExitPage {
			all = append(all, d.Of)
		}
	}
	return all
}()

// needed returns how many texts suffice for each visit: those after them are empty.
func (vs List) needed() int {
	for n := len(texts); n > leastTexts; n-- {
		for i := range vs {
			if *texts[n-1](&vs[i]) != "" {
				return n
			}
		}
	}
	return leastTexts
}

// textTable numbers texts. It searches few texts linearly and many with a map.
type textTable struct {
	list  []string
	index map[string]uint64
}

const fewTexts = 32

func (t *textTable) number(s string) uint64 {
	if s == "" {
		return 0
	}
	if t.index == nil {
		for i, have := range t.list {
			if have == s {
				return uint64(i + 1)
			}
		}
	} else if n, ok := t.index[s]; ok {
		return n
	}
	t.list = append(t.list, s)
	n := uint64(len(t.list))
	if len(t.list) == fewTexts {
		t.index = make(map[string]uint64, 4*fewTexts)
		for i, have := range t.list {
			t.index[have] = uint64(i + 1)
		}
	} else if t.index != nil {
		t.index[s] = n
	}
	return n
}

// Append appends the encoding of the visits to buf.
func (vs List) Append(buf []byte) []byte {
	table, n := textTable{list: make([]string, 0, fewTexts)}, vs.needed()
	body := make([]byte, 0, 64*len(vs))
	for i := range vs {
		body = vs[i].append(body, texts[:n], &table)
	}
	size := 1 + binary.MaxVarintLen64 + len(body)
	for _, s := range table.list {
		size += len(s) + binary.MaxVarintLen16
	}
	buf = append(slices.Grow(buf, size), byte(version+n-leastTexts))
	buf = binary.AppendUvarint(buf, uint64(len(table.list)))
	for _, s := range table.list {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	return append(buf, body...)
}

func (v *Visit) append(buf []byte, texts []func(*Visit) *string, table *textTable) []byte {
	buf = binary.AppendVarint(buf, v.Start)
	buf = binary.AppendUvarint(buf, uint64(v.End-v.Start))
	buf = binary.AppendVarint(buf, v.Events)
	buf = binary.AppendUvarint(buf, uint64(len(v.Hours)))
	before := int64(0)
	for _, h := range v.Hours {
		buf = binary.AppendVarint(buf, h.Hour/60-before)
		buf = binary.AppendVarint(buf, h.Views)
		before = h.Hour / 60
	}
	buf = binary.AppendUvarint(buf, uint64(len(v.Pages)))
	for _, p := range v.Pages {
		buf = binary.AppendUvarint(buf, table.number(p))
	}
	for _, of := range texts {
		buf = binary.AppendUvarint(buf, table.number(*of(v)))
	}
	buf = binary.AppendUvarint(buf, uint64(len(v.Goals)))
	for i := range v.Goals {
		g := &v.Goals[i]
		buf = binary.AppendUvarint(buf, table.number(g.Goal))
		buf = binary.AppendUvarint(buf, g.once())
		buf = binary.AppendUvarint(buf, table.number(g.Value))
		buf = binary.AppendVarint(buf, g.Count)
		buf = binary.AppendUvarint(buf, table.number(g.Revenue))
	}
	return buf
}

// Read decodes what Append encoded. Errors: ErrMalformed.
func (vs *List) Read(b []byte) error {
	if len(b) == 0 || b[0] < version || int(b[0])-version > len(texts)-leastTexts {
		return ErrMalformed
	}
	r := reader{Reader: varint.NewReader(b[1:]), fields: texts[:leastTexts+int(b[0])-version]}
	r.readTexts()
	*vs = nil
	for r.More() {
		*vs = append(*vs, Visit{})
		r.read(&(*vs)[len(*vs)-1])
	}
	if r.Failed() {
		return ErrMalformed
	}
	return nil
}

// reader reads visits after their text table.
type reader struct {
	varint.Reader
	fields []func(*Visit) *string
	texts  []string // the first is ""
}

func (r *reader) readTexts() {
	n := r.Count()
	r.texts = make([]string, 1, n+1)
	for range n {
		r.texts = append(r.texts, string(r.Bytes(r.Uint())))
	}
}

func (r *reader) text() string {
	n := r.Uint()
	if n >= uint64(len(r.texts)) {
		r.Fail()
		return ""
	}
	return r.texts[n]
}

func (r *reader) read(v *Visit) {
	v.Start = r.Int()
	v.End = v.Start + int64(r.Uint())
	v.Events = r.Int()
	v.Hours = make([]Hour, r.Count())
	before := int64(0)
	for i := range v.Hours {
		before += r.Int()
		v.Hours[i] = Hour{before * 60, r.Int()}
	}
	if len(v.Hours) == 0 {
		r.Fail() // every event is in an hour
	}
	if n := r.Count(); n > 0 {
		v.Pages = make([]string, n)
	}
	for i := range v.Pages {
		v.Pages[i] = r.text()
	}
	for _, of := range r.fields {
		*of(v) = r.text()
	}
	if n := r.Count(); n > 0 {
		v.Goals = make(Conversions, n)
	}
	for i := range v.Goals {
		v.Goals[i] = Conversion{r.text(), r.Uint() == 1, r.text(), r.Int(), r.text()}
	}
}
