package fold

import (
	"errors"
	"fmt"
	"iter"

	"github.com/onefold/onefold/table"
)

// A StateLog stores the states of a fold many to an item. Each flush appends a page: an item with
// the states changed by the flush, each with its values before and after. The current value of a
// state is the one in the last page that contains it.
//
// States that change together belong to one log, for instance those of one day. The pages of a log
// are numbered from 0 and stored in one partition, with sort keys in the order of their numbers. A
// page is put on condition that its number is free. So a worker that appends a page has seen all
// previous pages, and with them every state of the log, present or absent: the condition replaces
// the version condition of a separate item. Marks are stored with each state, as they are with an
// item.
//
// S is the state and K its key. The entity of states names them, for instance in dead letters, but
// has no items. P is the page, which embeds a Page, and PK its key.
type StateLog[S any, K comparable, P any, PK comparable] struct {
	states  *table.Entity[S, K]
	pages   *table.Entity[P, PK]
	def     LogDef[S, P]
	page    func(*P) *Page
	changes *Facts[Typed[S]]
}

// LogDef declares how states are stored in pages.
type LogDef[S, P any] struct {
	// Open returns the numbered page of the log that a state belongs to. last is the last page of
	// the log without its states, or nil if the log is empty. The log must depend only on the
	// state's key. Pages of a log may differ only in the sort key, which orders numbers up to
	// MaxPage.
	Open func(s *S, number int, last *P) P
	// Note adds to a page what readers search for, and how long to keep it: at least 48 hours. It
	// is called for each change of a state in the page; before and after are nil where the state
	// does not exist.
	Note func(p *P, before, after *S)
	// Append appends the encoding of a state, without its key, to buf. Read decodes it into a state
	// in which only the key is set.
	Append func(buf []byte, s *S) []byte
	Read   func(b []byte, s *S) error

	StateBytes int // approximate size of a decoded state in memory
}

// A Page is embedded in the items that store the states of a StateLog.
type Page struct {
	States []byte `dynamodbav:"states"` // see docs/format/statelog.md
	Number int    `dynamodbav:"number"` // number in its log, from 0
}

// MaxPage is the greatest page number. A log that is written four times a second needs fewer pages
// in three weeks.
const MaxPage = 9_999_999

func (p *Page) embedded() *Page { return p }

// Paged is a pointer to an item that embeds a Page.
type Paged[P any] interface {
	*P
	embedded() *Page
}

// NewStateLog declares a log of states.
func NewStateLog[S any, K comparable, P any, PK comparable, PP Paged[P]](states *table.Entity[S, K], pages *table.Entity[P, PK], def LogDef[S, P]) *StateLog[S, K, P, PK] {
	l := &StateLog[S, K, P, PK]{states: states, pages: pages, def: def, page: func(p *P) *Page { return PP(p).embedded() }}
	l.changes = Each(pages, 2*def.StateBytes, l.changesOf)
	return l
}

// Changes returns the changes of the states, for folds that derive from them. Changes of a state
// come in order.
func (l *StateLog[S, K, P, PK]) Changes() *Facts[Typed[S]] { return l.changes }

// Logged stores the states of a fold in a log instead of separate items. Hold, CacheSize, Finish
// and Removable work as for items; ExpectNew and Partials have no effect.
func Logged[S any, K comparable, P any, PK comparable](l *StateLog[S, K, P, PK]) Option {
	return Option{func(o *options) { o.log = l.erased() }}
}

// erasedLog is what a worker needs of a log, independent of its types.
type erasedLog struct {
	entity string // the entity of pages
	// open returns the numbered page of the log of a state. last is a page without states, or nil.
	open func(state any, number int, last any) any
	// updateShards adds a change of a state to a page. before is encoded; both are nil where the state does
	// not exist.
	note   func(page any, key table.Item, before []byte, after any) error
	key    func(page any) (table.Item, error)
	encode func(page any, body []byte) (table.Item, error)
	decode func(it table.Item) (page any, body Page, err error)

	append func(state any) []byte
	read   func(b []byte, zero any) error
	latest func(pages []table.Item) ([]table.Item, error)
}

func (l *StateLog[S, K, P, PK]) erased() *erasedLog {
	return &erasedLog{
		entity: l.pages.Name(),
		open: func(state any, number int, last any) any {
			before, _ := last.(*P) // nil for the first page
			p := l.open(state.(*S), number, before)
			return &p
		},
		note: func(page any, key table.Item, before []byte, after any) error {
			was, err := l.stateOf(key, before)
			if err == nil {
				now, _ := after.(*S)
				l.def.Note(page.(*P), was, now)
			}
			return err
		},
		key: func(page any) (table.Item, error) { return l.pages.Key(l.pages.KeyOf(page.(*P))) },
		encode: func(page any, body []byte) (table.Item, error) {
			l.page(page.(*P)).States = body
			return l.pages.Encode(page.(*P))
		},
		decode: func(it table.Item) (any, Page, error) {
			p := new(P)
			if err := l.pages.DecodeInto(it, p); err != nil {
				return nil, Page{}, err
			}
			body := *l.page(p)
			l.page(p).States = nil // pages are kept in memory for long, and their states are not needed there
			return p, body, nil
		},
		append: func(state any) []byte { return l.def.Append(nil, state.(*S)) },
		read:   func(b []byte, zero any) error { return l.def.Read(b, zero.(*S)) },
		latest: l.latest,
	}
}

// open makes the numbered page.
func (l *StateLog[S, K, P, PK]) open(s *S, number int, last *P) P {
	p := l.def.Open(s, number, last)
	l.page(&p).Number = number
	return p
}

// stateOf decodes a state; nil yields nil.
func (l *StateLog[S, K, P, PK]) stateOf(key table.Item, b []byte) (*S, error) {
	if b == nil {
		return nil, nil
	}
	s := new(S)
	if err := l.states.DecodeInto(zeroItem(key, l.states.Name()), s); err != nil {
		return nil, err
	}
	return s, l.def.Read(b, s)
}

// StateChange is a change of a state in a page. A state that does not exist is nil.
type StateChange[S any] struct{ Before, After *S }

// ChangesIn returns the changes of states in a page. Errors: ErrPage.
func (l *StateLog[S, K, P, PK]) ChangesIn(p *P) ([]StateChange[S], error) {
	key, err := l.pages.Key(l.pages.KeyOf(p))
	if err != nil {
		return nil, err
	}
	entries, err := decodePage(l.page(p).States)
	if err != nil {
		return nil, l.damaged(p, err)
	}
	changes := make([]StateChange[S], len(entries))
	for i := range entries {
		of := entries[i].keyIn(key[table.AttrPK])
		before, err := l.stateOf(of, entries[i].before())
		if err == nil {
			changes[i].Before = before
			changes[i].After, err = l.stateOf(of, entries[i].after())
		}
		if err != nil {
			return nil, l.damaged(p, err)
		}
	}
	return changes, nil
}

// ErrPage is returned for a page of a log that cannot be read. The error names the page.
var ErrPage = errors.New("fold: damaged page of states")

func (l *StateLog[S, K, P, PK]) damaged(p *P, err error) error {
	key, _ := l.pages.Key(l.pages.KeyOf(p)) //nolint:errcheck // it came with the page
	return fmt.Errorf("%w %s %s: %w", ErrPage, stringOf(key[table.AttrPK]), stringOf(key[table.AttrSK]), err)
}

// changesOf yields the changes of states in a new page. Other changes of pages are ignored: a page
// is only modified to erase a person's states, and only deleted when it expires or its owner is
// deleted.
func (l *StateLog[S, K, P, PK]) changesOf(c Typed[P]) (each iter.Seq2[int, Typed[S]], err error) {
	var all []StateChange[S]
	if c.Old == nil && c.New != nil {
		if all, err = l.ChangesIn(c.New); err != nil {
			return nil, err
		}
	}
	return func(yield func(int, Typed[S]) bool) {
		for i, ch := range all {
			if !yield(i, Typed[S]{Change: c.Change, Old: ch.Before, New: ch.After}) {
				return
			}
		}
	}, nil
}
