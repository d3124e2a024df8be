package fold

import (
	"errors"
	"fmt"
	"iter"

	"github.com/onefold/onefold/table"
)

// A StateLog stores the states of a fold many to an item. Each flush appends a page: an item with the states that the flush changed, each
// as it was before and as it is now. A state is what the last page that has it says.
//
// States that change together belong to one log, for instance those of a day. The pages of a log are numbered from 0, and stand in one
// partition under sort keys in the order of their numbers. A page is put on condition that there is none of its number. So a worker
// that appends one has seen all pages before, and with them every state of the log, present or absent: the condition on the page is
// what the condition on its version is for an item of its own. Marks are kept with each state, as they are with an item.
//
// S is the state, and K its key. The entity of states names them, in dead letters for instance, but has no items. P is the page, which
// embeds a Page, and PK its key.
type StateLog[S any, K comparable, P any, PK comparable] struct {
	states  *table.Entity[S, K]
	pages   *table.Entity[P, PK]
	def     LogDef[S, P]
	page    func(*P) *Page
	changes *Facts[Typed[S]]
}

// LogDef says how states are stored in pages.
type LogDef[S, P any] struct {
	// Open makes the page with a number in the log that a state belongs to. last is the log's last page, without its states; nil for a log
	// without pages. Which log it is depends on the key of the state alone, and two numbers differ in the sort key alone, which
	// has numbers up to MaxPage in their order.
	Open func(s *S, number int, last *P) P
	// Note adds to a page what readers look for, and until when it is kept: 48 hours at least. It is called for each change of a state in
	// the page; before and after are nil where there is no state.
	Note func(p *P, before, after *S)
	// Append appends the encoding of a state, without its key, to buf. Read decodes it into a state that has its key and nothing else.
	Append func(buf []byte, s *S) []byte
	Read   func(b []byte, s *S) error

	StateBytes int // that a decoded state takes in memory, about
}

// A Page is embedded in the items that hold the states of a StateLog.
type Page struct {
	States []byte `dynamodbav:"states"` // docs/format/statelog.md
	Number int    `dynamodbav:"number"` // in its log, from 0
}

// MaxPage is the greatest number of a page: more than a log that is written four times a second needs in three weeks.
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

// Changes are the changes of the states, as folds read them that follow from this one. A state's changes come in order.
func (l *StateLog[S, K, P, PK]) Changes() *Facts[Typed[S]] { return l.changes }

// Logged stores the states of a fold in a log rather than as items of their own. Worker.Hold, CacheSize, Finish and Removable
// mean what they mean for items; ExpectNew and Partials mean nothing.
func Logged[S any, K comparable, P any, PK comparable](l *StateLog[S, K, P, PK]) Option {
	return Option{func(o *options) { o.log = l.erased() }}
}

// erased is what a worker needs of a log, whatever its types are.
type erasedLog struct {
	entity string // of pages
	// open makes the page with a number in the log of a state. last is a page without states, or nil.
	open func(state any, number int, last any) any
	// note adds a change of a state to a page. The states are encoded; nil: there is none.
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
			before, _ := last.(*P) // nil for the first
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
			l.page(p).States = nil // kept for long, and not needed then
			return p, body, nil
		},
		append: func(state any) []byte { return l.def.Append(nil, state.(*S)) },
		read:   func(b []byte, zero any) error { return l.def.Read(b, zero.(*S)) },
		latest: l.latest,
	}
}

// open makes a page.
func (l *StateLog[S, K, P, PK]) open(s *S, number int, last *P) P {
	p := l.def.Open(s, number, last)
	l.page(&p).Number = number
	return p
}

// stateOf decodes a state; nil for none.
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

// StateChange is a change of a state, as a page tells it: nil where there was or is none.
type StateChange[S any] struct{ Before, After *S }

// ChangesIn returns the changes of states that a page holds. Errors: ErrPage.
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

// ErrPage is returned for a page of a log that cannot be read. It names the page.
var ErrPage = errors.New("fold: damaged page of states")

func (l *StateLog[S, K, P, PK]) damaged(p *P, err error) error {
	key, _ := l.pages.Key(l.pages.KeyOf(p)) //nolint:errcheck // it came with the page
	return fmt.Errorf("%w %s %s: %w", ErrPage, stringOf(key[table.AttrPK]), stringOf(key[table.AttrSK]), err)
}

// changesOf are the changes of states that a change of a page tells: those of a new page. Pages are changed only to forget somebody, and
// deleted only when they have expired or their owner is deleted.
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
