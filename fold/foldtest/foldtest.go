// Package foldtest checks the laws that make a fold safe to batch, retry and reorder, and holds a world to run folds in.
// Tests of packages that declare folds use it; nothing else may.
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

// Merge checks that a merge function is associative and commutative and has the zero state as identity, comparing
// states by the items that they are stored as. random makes a state, always with the same key, and of nothing but the
// generator that it is given: a merge may keep parts of its arguments, so each state is made anew for every use.
//
// What is normalised before the comparison, as Fold does before it writes, may be given as finish.
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

// of makes the state of a number, the same at every call.
func (m merger[S, K]) of(n uint64) *S {
	s := m.random(rand.New(rand.NewPCG(n, 0)))
	return &s
}

// zero makes the zero state with the key of the state of a number.
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

// Folds checks that folds derive the same items whatever happens to the deliveries: any order across items, any batches,
// duplicates of batches, crashes. write makes one random change to source items. It runs n seeds of foldsim.
func Folds(t testing.TB, folds []*fold.Fold, write func(*foldsim.World), n int) {
	t.Helper()
	foldsim.Test(t, foldsim.Scenario{Folds: folds, Write: write}, n)
}

// seeds returns how many seeds to run: n, or ONEFOLD_SIM_SEEDS.
func seeds(n int) uint64 {
	if v, err := strconv.Atoi(os.Getenv("ONEFOLD_SIM_SEEDS")); err == nil && v > 0 {
		n = v
	}
	return uint64(n)
}
