package fold

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// The attributes that the runtime keeps on derived items beside the entity's own.
const (
	AttrVersion = "fv" // N: the fold version, one more at every write
	AttrMarks   = "fm" // M of S: per stream shard, the last change that the item has counted
)

// ErrDefinition is returned by NewWorker when folds are declared in a way that cannot work.
var ErrDefinition = errors.New("fold: faulty definition")

// A Fold derives the items of one entity from changes of others. It is a value: any number of workers may run it.
type Fold struct {
	name    string
	into    string
	sources []*source
	options options
	open    func(*Fold, *table.Table) (lane, error)
}

// Name returns the fold's name. Dead letters are kept under it.
func (f *Fold) Name() string { return f.name }

// Into returns the name of the entity whose items the fold writes. Nothing else may write them. An observer has none.
func (f *Fold) Into() string { return f.into }

// From returns the names of the entities whose changes the fold reads.
func (f *Fold) From() []string {
	names := make([]string, len(f.sources))
	for i, s := range f.sources {
		names[i] = s.entity
	}
	return names
}

// New declares a fold. S is the state, which is the derived item itself; K its key.
//
// merge adds a delta to a state. It must be associative and commutative, with the zero state (key set, nothing else) as
// identity, so that neither order nor batching matters; foldtest checks these laws. Changes of one source item do come
// in their order, so "the last one wins" is sound for a state that only one source item touches. merge may keep parts
// of delta, which is not used again. It is called concurrently, for different items.
func New[S any, K comparable](name string, into *table.Entity[S, K], merge func(into, delta *S), from ...From[S, K]) *Fold {
	f := &Fold{name: name, into: into.Name()}
	for _, fr := range from {
		f.addSource(fr.source)
	}
	f.open = func(f *Fold, _ *table.Table) (lane, error) { return openSum(f, into, merge, from) }
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

// From says how the changes of one entity touch the states of a fold. On makes it.
type From[S, K any] struct {
	source *source
	apply  func(change any, at func(K) *S) error
}

// On says how a change of the entity src touches states. at returns the in-memory delta of a derived item: the zero
// state with its key set, or what this batch has put there already. apply adds to it, and touches only states that
// the change does change.
//
// apply is pure: what it does depends on the change alone. It may be called again for a change, and concurrently. An
// error sends the change to the dead letters, without a trace in any state. So does a key that the entity refuses.
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
	is     any    // what folds must have in common to share the decoding: the *table.Entity, or the *Facts
	entity string // its name
	// decode appends what folds apply: one Typed, or the facts of the change.
	decode func(to []fact, c *Change, before, after bool) ([]fact, error)
	bytes  int   // that a decoded fact takes, about; 0: as many as the images
	once   *once // nil: each counts
}

// fact is what folds apply at a time.
type fact struct {
	nth   int // in its change
	typed any // shared by all folds
}

// Typed is a change, decoded once for its entity and shared by all folds that read it: they must not write to it.
// Old and New are nil where the item was absent, removed by a fold, or of another entity.
type Typed[T any] struct {
	*Change  // without its images
	Old, New *T
	// The fold versions of the two images if the source item is itself derived, and else 0. They grow from change to
	// change of an item, also across its removal.
	OldVersion, NewVersion int64
}

func sourceOf[T any, TK comparable](src *table.Entity[T, TK]) *source {
	name := src.Name()
	return &source{is: src, entity: name, decode: func(to []fact, c *Change, before, after bool) ([]fact, error) {
		t, err := typedOf(src, c, before, after)
		return append(to, fact{whole, t}), err
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

// versionOf returns the fold version of an item, 0 if it has none.
func versionOf(it table.Item) int64 { return intOf(it, AttrVersion) }

// intOf returns an integer attribute of an item, 0 if it has none.
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

func entityOf(it table.Item) string {
	s, ok := it[table.AttrEntity].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}
