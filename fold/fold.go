package fold

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// Attributes that the runtime adds to derived items.
const (
	AttrVersion = table.AttrFoldVersion
	AttrMarks   = table.AttrFoldMarks
)

// ErrDefinition is returned by NewWorker for invalid declarations of folds or options.
var ErrDefinition = errors.New("fold: faulty definition")

// A Fold derives the items of one entity from changes of others. It is an immutable value: any
// number of workers may run it.
type Fold struct {
	name    string
	into    string
	sources []*source
	options options
	open    func(*Fold, *table.Table) (pipeline, error)
}

// Name returns the fold's name, under which its dead letters are stored.
func (f *Fold) Name() string { return f.name }

// Into returns the name of the entity that the fold writes, "" for an observer. Nothing else may
// write items of this entity.
func (f *Fold) Into() string { return f.into }

// From returns the names of the entities whose changes the fold reads.
func (f *Fold) From() []string {
	names := make([]string, len(f.sources))
	for i, s := range f.sources {
		names[i] = s.entity
	}
	return names
}

// New declares a fold. S is the state, which is the derived item itself, and K is its key.
//
// merge adds a delta to a state. It must be associative and commutative, and the zero state (key
// set, nothing else) must be its identity, so that neither order nor batching matters; foldtest
// checks these laws. Changes of a single source item arrive in order, so "last one wins" is fine
// for states that only one source item touches. merge may keep parts of delta, which is not used
// afterwards. It is called concurrently for different items.
func New[S any, K comparable](name string, into *table.Entity[S, K], merge func(into, delta *S), from ...From[S, K]) *Fold {
	f := &Fold{name: name, into: into.Name()}
	for _, fr := range from {
		f.addSource(fr.source)
	}
	f.open = func(f *Fold, _ *table.Table) (pipeline, error) { return openSum(f, into, merge, from) }
	return f
}

func (f *Fold) addSource(s *source) {
	for _, have := range f.sources {
		if have.is == s.is {
			return
		}
	}
	f.sources = append(f.sources, s)
}

// From declares how changes of one entity touch the states of a fold. On and OnEach make a From.
type From[S, K any] struct {
	source *source
	apply  func(change any, at func(K) *S) error
}

// On declares how a change of the entity src touches states. at returns the in-memory delta of a
// derived item: the zero state with its key set, or what this batch has added so far. apply adds to
// it, and should call at only for states that really change.
//
// apply must be pure: its effect depends only on the change. It may be called again for the same
// change, and concurrently. If it returns an error or panics, or if the entity rejects a key, the
// change goes to the dead letters and leaves no trace in any state.
func On[T any, TK comparable, S any, K comparable](src *table.Entity[T, TK], apply func(c Typed[T], at func(K) *S) error) From[S, K] {
	return From[S, K]{
		source: sourceOf(src),
		apply: func(change any, at func(K) *S) error {
			c, ok := change.(*Typed[T])
			if !ok {
				return fmt.Errorf("fold: change is a %T", change)
			}
			return apply(*c, at)
		},
	}
}

// source is an entity whose changes are read.
type source struct {
	is     any    // identity for sharing decoded changes between folds: the *table.Entity or the *Facts
	entity string // name of the entity
	// decode appends what folds apply: one Typed, or each fact of the change.
	decode func(to []fact, c *Change, before, after bool) ([]fact, error)
	bytes  int   // approximate size of a decoded fact; 0 means that of the images
	once   *once // nil if every fact counts
}

// fact is the unit that folds apply.
type fact struct {
	nth   int // position in its change, or whole
	typed any // shared by all folds
}

// Typed is a change, decoded once for its entity. All folds that read it share it and must not
// modify it. Old and New are nil where the item did not exist, was removed by a fold, or belonged
// to another entity.
type Typed[T any] struct {
	*Change  // without its images
	Old, New *T
	// The fold versions of the two images if the source item is itself derived, otherwise 0. They
	// increase from change to change of an item, even if it is removed in between.
	OldVersion, NewVersion int64
}

func sourceOf[T any, TK comparable](src *table.Entity[T, TK]) *source {
	name := src.Name()
	return &source{is: src, entity: name, decode: func(to []fact, c *Change, before, after bool) ([]fact, error) {
		t, err := typedOf(src, c, before, after)
		return append(to, fact{wholeChange, t}), err
	}}
}

func typedOf[T any, TK comparable](src *table.Entity[T, TK], c *Change, before, after bool) (*Typed[T], error) {
	t := &Typed[T]{Change: c}
	if before {
		t.Old = new(T)
		if err := src.DecodeInto(c.Old, t.Old); err != nil {
			return nil, fmt.Errorf("old image: %w", err)
		}
	}
	if after {
		t.New = new(T)
		if err := src.DecodeInto(c.New, t.New); err != nil {
			return nil, fmt.Errorf("new image: %w", err)
		}
	}
	t.OldVersion, t.NewVersion = versionOf(c.Old), versionOf(c.New)
	return t, nil
}

// versionOf returns the fold version of an item, or 0 if it has none.
func versionOf(it table.Item) int64 { return intOf(it, AttrVersion) }

// intOf returns an integer attribute of an item, or 0 if it is absent or not an integer.
func intOf(it table.Item, name string) int64 {
	n, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// entityOf returns the name of an item's entity, or "" if it has none.
func entityOf(it table.Item) string {
	s, ok := it[table.AttrEntity].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}
