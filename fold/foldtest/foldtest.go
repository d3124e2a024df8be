// Package foldtest checks the laws that make a fold safe to batch, retry and reorder. It also
// provides an in-memory world to run folds in. Only tests may use it.
package foldtest

import (
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/table"
)

const mergeRuns = 300

// Merge checks that a merge function is associative and commutative, with the zero state as
// identity. It compares states by the items that store them.
//
// random returns a state, always with the same key, that depends only on the given generator.
// Because a merge may keep parts of its arguments, Merge makes each state anew for every use.
// finish functions normalize states before they are compared, like the option Finish does before a
// write.
func Merge[S any, K comparable](t testing.TB, into *table.Entity[S, K], merge func(into, delta *S), random func(*rand.Rand) S, finish ...func(*S)) {
	t.Helper()
	m := merger[S, K]{t: t, into: into, merge: merge, random: random, finish: finish}
	for seed := range seeds(mergeRuns) {
		a, b, c := 3*seed+1, 3*seed+2, 3*seed+3
		ab, ba := m.of(a), m.of(b)
		m.merge(ab, m.of(b))
		m.merge(ba, m.of(a))
		m.same(seed, "merge is not commutative", ab, ba)

		left, bc, right := m.of(a), m.of(b), m.of(a)
		m.merge(left, m.of(b))
		m.merge(left, m.of(c))
		m.merge(bc, m.of(c))
		m.merge(right, bc)
		m.same(seed, "merge is not associative", left, right)

		zero, after := m.zero(a), m.of(a)
		m.merge(zero, m.of(a))
		m.merge(after, m.zero(a))
		m.same(seed, "the zero state is not an identity on the left", zero, m.of(a))
		m.same(seed, "the zero state is not an identity on the right", after, m.of(a))
		if t.Failed() {
			return
		}
	}
}

type merger[S any, K comparable] struct {
	t      testing.TB
	into   *table.Entity[S, K]
	merge  func(into, delta *S)
	random func(*rand.Rand) S
	finish []func(*S)
}

// of returns the state with a number, the same in every call.
func (m merger[S, K]) of(n uint64) *S {
	s := m.random(rand.New(rand.NewPCG(n, 0)))
	return &s
}

// zero returns the zero state with the key of the numbered state.
func (m merger[S, K]) zero(n uint64) *S {
	m.t.Helper()
	it, err := m.into.Encode(m.of(n))
	if err != nil {
		m.t.Fatal(err)
	}
	s := new(S)
	for name := range it {
		if name != table.AttrPK && name != table.AttrSK && name != table.AttrEntity {
			delete(it, name)
		}
	}
	if err := m.into.DecodeInto(it, s); err != nil {
		m.t.Fatal(err)
	}
	return s
}

func (m merger[S, K]) same(seed uint64, law string, a, b *S) {
	m.t.Helper()
	for _, f := range m.finish {
		f(a)
		f(b)
	}
	x, err := m.into.Encode(a)
	if err != nil {
		m.t.Fatal(err)
	}
	y, err := m.into.Encode(b)
	if err != nil {
		m.t.Fatal(err)
	}
	if !reflect.DeepEqual(x, y) {
		m.t.Errorf("seed %d: %s\n%s\n%s", seed, law, foldsim.Describe(x), foldsim.Describe(y))
	}
}

// Folds checks that folds derive the same items no matter how changes are delivered: in any order
// across items, in any batches, with repeated batches and crashes. write makes one random change to
// source items. It runs n seeds of foldsim.
func Folds(t testing.TB, folds []*fold.Fold, write func(*foldsim.World), n int) {
	t.Helper()
	foldsim.Test(t, foldsim.Scenario{Folds: folds, Write: write}, n)
}

// seeds returns the number of seeds to run: n, or ONEFOLD_SIM_SEEDS.
func seeds(n int) uint64 {
	if v, err := strconv.Atoi(os.Getenv("ONEFOLD_SIM_SEEDS")); err == nil && v > 0 {
		n = v
	}
	return uint64(n)
}
