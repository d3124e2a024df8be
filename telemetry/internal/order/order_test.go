package order

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/internal/seeds"
)

// drawName generates a name, often one that differs little from others.
func drawName(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return Unnumbered(r.Uint64() >> (32 * r.IntN(2)) << (32 * r.IntN(2)))
	}
	session := ""
	if r.IntN(2) == 0 {
		session = fmt.Sprint([]string{"", "-", "boot-"}[r.IntN(3)], r.IntN(20))
	}
	return Numbered(r.Int64N(3)*r.Int64N(1_000_000_000_000/2), session)
}

// Places are in the order of names. Names share a place only if the upper halves of their hashes
// are equal.
func TestOrderOfNames(t *testing.T) {
	seed := seeds.One(t)
	r := rand.New(rand.NewPCG(seed, 0))
	names := make([]string, 500)
	for i := range names {
		names[i] = drawName(r)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i := 1; i < len(names); i++ {
		a, b := names[i-1], names[i]
		same := a[0] == '-' && b[0] == '-' && a[:6] == b[:6]
		if c := Of(7, a).Compare(Of(7, b)); c > 0 || c == 0 && !same {
			t.Fatalf("%q has the place %+v, %q the place %+v", a, Of(7, a), b, Of(7, b))
		}
		if Of(8, a).Compare(Of(7, b)) <= 0 {
			t.Fatalf("%q of a later millisecond is not behind %q", a, b)
		}
	}
}

func TestNames(t *testing.T) {
	seed := seeds.One(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 1000 {
		name := drawName(r)
		nth, session, ok := Split(name)
		if strings.HasPrefix(name, "-") {
			if nth != 0 || session != "" || ok || Nth(name) != 0 {
				t.Fatalf("%q: %d, %q, %v", name, nth, session, ok)
			}
		} else if !ok || Numbered(nth-1, session) != name || Nth(name) != nth {
			t.Fatalf("%q: %d, %q, %v", name, nth, session, ok)
		}
	}
	for _, odd := range []string{"", "-", "7", "+00000000001", "000000000001-", "000000000001-x", "000000000001-AAAAAA-x", "0000000000012", "-00000000000"} {
		if _, _, ok := Split(odd); ok {
			t.Errorf("%q is taken for a number", odd)
		}
	}
	if place := Of(1, "-00000000000"); place.Nth != 0 {
		t.Errorf("a hash of zeros: %+v", place)
	}
}
