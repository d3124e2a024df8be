package fold

import (
	"fmt"
	"iter"

	"github.com/onefold/onefold/table"
)

// Facts are what is packed into the items of an entity: many to an item, which is written, delivered and marked as one. Each
// declares them.
type Facts[F any] struct {
	source *source
}

// Each declares that an item of src holds several facts. split yields what a change does to them, each with its place in the item: of a
// new item, usually, all of its facts; of a changed one, those that came or went. Like apply of On, it depends on the change
// alone, and yields the same places whenever it is called for the change. An error, or a panic, sends the change to the dead letters as a whole.
//
// A fact takes about factBytes bytes of memory once it is decoded. By that, and not by the size of the item, a worker knows when it
// holds enough.
func Each[T any, TK comparable, F any](src *table.Entity[T, TK], factBytes int, split func(c Typed[T]) (iter.Seq2[int, F], error)) *Facts[F] {
	facts := &Facts[F]{}
	facts.source = &source{is: facts, entity: src.Name(), bytes: factBytes, decode: func(to []fact, c *Change, before, after bool) ([]fact, error) {
		t, err := typedOf(src, c, before, after)
		if err != nil {
			return to, err
		}
		each, err := split(*t)
		if err != nil {
			return to, err
		}
		last := whole
		for nth, f := range each {
			if nth <= last {
				return to, fmt.Errorf("fold: fact %d follows fact %d", nth, last)
			}
			to, last = append(to, fact{nth, &f}), nth
		}
		return to, nil
	}}
	return facts
}

// OnEach says how a fact touches states. apply is like that of On: an error sends the fact to the dead letters, and none of the
// others of its item.
//
// All facts of a change are counted or skipped together, for they have one sequence number. So a fact that is sent again, in another
// item, is another fact here.
func OnEach[F, S any, K comparable](facts *Facts[F], apply func(f *F, at func(K) *S) error) From[S, K] {
	return From[S, K]{
		source: facts.source,
		apply: func(f any, at func(K) *S) error {
			typed, ok := f.(*F)
			if !ok {
				return fmt.Errorf("fold: fact is a %T", f)
			}
			return apply(typed, at)
		},
	}
}
