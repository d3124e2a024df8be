package fold

import (
	"fmt"
	"iter"

	"github.com/onefold/onefold/table"
)

// Facts declares that each item of an entity holds many facts, which are written, delivered and
// marked together. Each makes a Facts.
type Facts[F any] struct {
	source *source
}

// Each declares that an item of src contains several facts. split yields the facts affected by a
// change, each with its position in the item, in ascending order: usually all facts of a new item,
// and of a changed item those that were added or removed. Like apply in On, split must depend only
// on the change, and yield the same positions every time. If it fails or panics, the whole change
// goes to the dead letters.
//
// factBytes is the approximate memory that a decoded fact takes. Workers use it, instead of the
// size of the item, to limit the size of a batch.
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
		last := wholeChange
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

// OnEach declares how a fact touches states. apply is as in On, except that an error sends only
// this fact to the dead letters, not the others in its item.
//
// All facts of a change have the same sequence number, so they are counted or skipped together. A
// fact that is sent again in another item counts as another fact, unless Once is used.
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
