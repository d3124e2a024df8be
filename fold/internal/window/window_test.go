package window

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func entry(item string, bytes ...byte) Entry {
	e := Entry{Item: item}
	copy(e.ID[:], bytes)
	return e
}

// TestGolden checks the layout against the document.
func TestGolden(t *testing.T) {
	body := Encode([]Entry{
		entry("B#2", 1, 2, 3), entry("B#1", 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9), entry("B#1", 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 7),
	})
	const want = "01" + "03422331" + "02" + "00" + "09090909090909090909090909090907" + "0f" + "09" +
		"03422332" + "01" + "00" + "01020300000000000000000000000000" + "be86327b"
	if got := hex.EncodeToString(body); got != want {
		t.Errorf("is\n%s, should be\n%s", got, want)
	}
}

// TestMergeAgainstModel adds facts one by one and as whole bodies. The first item of each fact must
// win.
func TestMergeAgainstModel(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		want, s := map[ID]string{}, Set{}
		for range r.IntN(20) {
			var body []Entry
			item := fmt.Sprintf("B#%d", r.IntN(5))
			for range r.IntN(6) {
				e := entry(item, byte(r.IntN(3)), byte(r.IntN(3)), byte(r.IntN(2)))
				if had := want[e.ID]; s.First(e.ID) != had {
					t.Fatalf("seed %d: first of %v is %q, should be %q", seed, e.ID, s.First(e.ID), had)
				}
				switch {
				case r.IntN(2) == 0 && want[e.ID] == "":
					if s.Add(e.ID, item) != "" {
						t.Fatalf("seed %d: %v was known", seed, e.ID)
					}
					want[e.ID] = item
				case !slices.Contains(body, e):
					body = append(body, e)
				}
			}
			if err := s.Merge(Encode(body)); err != nil {
				t.Fatal(err)
			}
			for _, e := range body { // for writers that disagree: the lesser item wins
				if had := want[e.ID]; had == "" || had > e.Item {
					want[e.ID] = e.Item
				}
			}
		}
		for id, item := range want {
			if s.First(id) != item {
				t.Fatalf("seed %d: first of %v is %q, should be %q", seed, id, s.First(id), item)
			}
		}
		if s.Len() != len(want) {
			t.Fatalf("seed %d: %d facts, should be %d", seed, s.Len(), len(want))
		}
	}
}

func TestDamaged(t *testing.T) {
	body := Encode([]Entry{entry("B#1", 1), entry("B#1", 2), entry("B#2", 3)})
	for i := range body {
		for bit := range 8 {
			bad := slices.Clone(body)
			bad[i] ^= 1 << bit
			var s Set
			if err := s.Merge(bad); !errors.Is(err, ErrCorrupt) || s.Len() > 0 {
				t.Errorf("bit %d of byte %d flipped: %v, %d facts", bit, i, err, s.Len())
			}
		}
	}
	for n := range body {
		if _, err := Decode(body[:n]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestNewerVersion(t *testing.T) {
	newer := sealed([]byte{2, 1, 2, 3})
	if _, err := Decode(newer); !errors.Is(err, ErrVersion) {
		t.Errorf("format 2: %v", err)
	}
}

// FuzzDecode feeds the decoder content whose checksum is right.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{format})
	f.Add(Encode([]Entry{entry("B#1", 1), entry("B#2", 3)})[:30])
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) == 0 || len(content) > 1<<16 {
			return
		}
		entries, err := Decode(sealed(content))
		if err != nil {
			return
		}
		var s, again Set
		for _, e := range entries {
			if strings.Contains(e.Item, "\x00") {
				return
			}
			s.merge(e)
		}
		if err := again.Merge(Encode(entries)); err != nil || again.Len() != s.Len() {
			t.Fatalf("written again: %v, %d facts of %d", err, again.Len(), s.Len())
		}
	})
}
