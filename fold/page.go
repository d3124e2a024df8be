package fold

import (
	"fmt"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/internal/block"
	"github.com/onefold/onefold/table"
)

// entry is a change of one state in a page.
type entry struct {
	SK     string // sort key of the state
	Was    string // encoded state before the change
	Is     string // encoded state after the change
	Had    bool   // a state existed before
	Has    bool   // a state exists now; otherwise the entry is a tombstone
	Counts marks  // marks of the state
}

// pageEntries are the columns of a page. Column numbers are part of the stored format and must
// never be reused.
var pageEntries = block.New('s',
	block.Text(entrySK, func(e *entry) *string { return &e.SK }),
	block.Text(entryWas, func(e *entry) *string { return &e.Was }),
	block.Text(entryIs, func(e *entry) *string { return &e.Is }),
	block.Bool(entryHad, func(e *entry) *bool { return &e.Had }),
	block.Bool(entryHas, func(e *entry) *bool { return &e.Has }),
	block.Nested(entryMarks, writeMarks, readMarks),
)

const (
	entrySK    = 1
	entryWas   = 2
	entryIs    = 3
	entryHad   = 4
	entryHas   = 5
	entryMarks = 6
)

func writeMarks(w *block.Writer, e *entry) {
	if len(e.Counts) == 0 {
		return
	}
	shards := make([]string, 0, len(e.Counts))
	for shard := range e.Counts {
		shards = append(shards, shard)
	}
	slices.Sort(shards) // equal entries must encode to equal bytes
	w.Count(len(shards))
	for _, shard := range shards {
		w.Text(shard)
		w.Text(string(e.Counts[shard]))
	}
}

func readMarks(r *block.Reader, e *entry) {
	n := r.Count()
	e.Counts = make(marks, n)
	for range n {
		shard := r.Text()
		e.Counts[shard] = Sequence(r.Text())
	}
}

// pageBytes limits the uncompressed size of the states in a page, unless a single state is larger:
// about four times what is stored. It limits how much must be read for a state that is not in
// memory.
const pageBytes = 256 << 10

// pagesOf divides entries into pages, in order. An entry that fits into no page is yielded alone,
// with an error.
func pagesOf(entries []entry) iter.Seq2[block.Part[entry], error] {
	return func(yield func(block.Part[entry], error) bool) {
		for len(entries) > 0 {
			n, size := 0, 0
			for n < len(entries) && n < block.MaxFacts && (n == 0 || size+entries[n].bytes() <= pageBytes) {
				size += entries[n].bytes()
				n++
			}
			for part, err := range pageEntries.Split(entries[:n], block.MaxBody) {
				if !yield(part, err) {
					return
				}
			}
			entries = entries[n:]
		}
	}
}

func (e *entry) bytes() int { return len(e.SK) + len(e.Was) + len(e.Is) }

// decodePage decodes the entries of a page, or only the given columns. Errors: block.ErrCorrupt,
// block.ErrVersion.
func decodePage(body []byte, only ...byte) ([]entry, error) {
	entries, err := pageEntries.Decode(nil, body, only...)
	if err != nil {
		return nil, fmt.Errorf("states: %w", err)
	}
	return entries, nil
}

// before returns the encoded state before the change, or nil if there was none.
func (e *entry) before() []byte { return bytesIf(e.Had, e.Was) }

// after returns the encoded state after the change, or nil if there is none.
func (e *entry) after() []byte { return bytesIf(e.Has, e.Is) }

func bytesIf(there bool, s string) []byte {
	if !there {
		return nil
	}
	return []byte(s)
}

// keyIn returns the key of the entry's state, in the partition of its page.
func (e *entry) keyIn(partition types.AttributeValue) table.Item {
	return table.Item{table.AttrPK: partition, table.AttrSK: &types.AttributeValueMemberS{Value: e.SK}}
}
