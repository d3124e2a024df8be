package foldtest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

type wordKey struct {
	Word string `dynamodbav:"word"`
}

type word struct {
	wordKey
	Count int    `dynamodbav:"count"`
	First string `dynamodbav:"first,omitempty"` // the smallest document that has the term
}

type docKey struct {
	ID string `dynamodbav:"id"`
}

type doc struct {
	docKey
	Text string `dynamodbav:"text"`
}

var (
	words = table.Define[word, wordKey]("test.word", table.Def[word]{PK: "WORD#{word}", SK: "WORD"})
	docs  = table.Define[doc, docKey]("test.doc", table.Def[doc]{PK: "DOC#{id}", SK: "DOC"})
)

func addWord(into, d *word) {
	into.Count += d.Count
	if d.First != "" && (into.First == "" || d.First < into.First) {
		into.First = d.First
	}
}

func randomWord(r *rand.Rand) word {
	return word{wordKey{"w"}, r.IntN(9), fmt.Sprint("d", r.IntN(9))}
}

func TestGoodMerge(t *testing.T) {
	foldtest.Merge(t, words, addWord, randomWord)
}

func TestGoodFold(t *testing.T) {
	f := fold.New("words", words, addWord, fold.On(docs, func(c fold.Typed[doc], at func(wordKey) *word) error {
		if c.New == nil || c.Old != nil {
			return nil
		}
		for _, w := range strings.Fields(c.New.Text) {
			addWord(at(wordKey{w}), &word{Count: 1, First: c.New.ID})
		}
		return nil
	}))
	write := func(w *foldsim.World) {
		d := doc{docKey{fmt.Sprint("d", w.Rand.IntN(30))}, []string{"a b", "b c", "a a"}[w.Rand.IntN(3)]}
		it, err := docs.Encode(&d)
		if err != nil {
			t.Fatal(err)
		}
		w.Put(it)
	}
	foldtest.Folds(t, []*fold.Fold{f}, write, 50)
}

// recorder records the failures of a check that is expected to fail.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()      {}
func (r *recorder) Failed() bool { return len(r.failures) > 0 }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestBadMergesAreFound(t *testing.T) {
	for law, merge := range map[string]func(into, d *word){
		"commutative": func(into, d *word) { into.Count, into.First = into.Count+d.Count, d.First },
		"associative": func(into, d *word) { into.Count = (into.Count + d.Count) * 2 },
		"identity":    func(into, d *word) { into.Count += d.Count + 1 },
	} {
		r := &recorder{TB: t}
		foldtest.Merge(r, words, merge, randomWord)
		if !strings.Contains(strings.Join(r.failures, "\n"), law) {
			t.Errorf("a merge that breaks the law %q: found %q", law, r.failures)
		}
	}
}
