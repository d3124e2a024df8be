package capacity_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/keyenc"
)

// place returns the place of a partition key, with a hash that spreads keys over stripes.
func place(t testing.TB, v types.AttributeValue, second int64) capacity.Access {
	t.Helper()
	b, err := keyenc.Append(make([]byte, 4), v)
	if err != nil {
		t.Fatal(err)
	}
	hash := uint32(2166136261)
	for _, c := range b {
		hash = (hash ^ uint32(c)) * 16777619
	}
	binary.BigEndian.PutUint32(b, hash)
	return capacity.Access{Primary: b, Second: second}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

var described = &catalog.Table{Indexes: []catalog.Index{{Name: "gsi1"}, {Name: "gsi2"}}}

func TestPrefixes(t *testing.T) {
	m := capacity.NewTable(nil)
	write := func(at capacity.Access) { m.Count(capacity.Writing, described, at, 1, capacity.Usage{Table: 2}) }
	for _, key := range []string{"SITE#a#SHARD#1", "SITE#b", "#", "a\x00b#c", "plain", "DEVICE#1"} {
		write(place(t, text(key), 0))
	}
	write(place(t, &types.AttributeValueMemberN{Value: "12"}, 0))
	write(place(t, &types.AttributeValueMemberB{Value: []byte("SITE#x")}, 0))
	m.Count(capacity.Reading, described, capacity.Access{}, 1, capacity.Usage{Table: 1, Indexes: []int64{0, 3}})
	want := map[string]capacity.Use{
		"SITE#": {WriteUnits: 2, Writes: 2}, "#": {WriteUnits: 1, Writes: 1}, "a\x00b#": {WriteUnits: 1, Writes: 1}, "DEVICE#": {WriteUnits: 1, Writes: 1},
		capacity.NoPrefix: {WriteUnits: 3, Writes: 3}, capacity.ScanPrefix: {ReadUnits: 2, Reads: 1},
	}
	got := m.Report(described, 0)
	if fmt.Sprint(got.Prefixes) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got.Prefixes, want)
	}
	if (got.Use != capacity.Use{ReadUnits: 0.5, WriteUnits: 8, Reads: 1, Writes: 8}) || (got.Indexes["gsi2"] != capacity.Use{ReadUnits: 1.5, Reads: 1}) || len(got.Indexes) != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestPrefixesAreBounded checks that more and more new prefixes do not take more memory, and that
// the sum includes all of them.
func TestPrefixesAreBounded(t *testing.T) {
	m := capacity.NewTable(func(key string) string { return key[:strings.Index(key, "/")] })
	for i := range 1000 {
		m.Count(capacity.Writing, described, place(t, text(fmt.Sprintf("%d/x", i)), 0), 1, capacity.Usage{Table: 2})
	}
	got, sum := m.Report(described, 0).Prefixes, 0.0
	for _, u := range got {
		sum += u.WriteUnits
	}
	if len(got) != 256 || sum != 1000 || got[capacity.OtherPrefix].Writes != 745 || got["17"].Writes != 1 {
		t.Errorf("%d prefixes, %v units, others %+v", len(got), sum, got[capacity.OtherPrefix])
	}
}

// TestHottest writes to many keys, few of which are hot, from several goroutines. The meter must
// find the hot keys, in the right order and with correct bounds.
func TestHottest(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := capacity.NewTable(nil)
	const hot, writers, rounds = 8, 4, 4000
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			for range rounds {
				m.Count(capacity.Writing, described, place(t, text(fmt.Sprint("COLD#", rng.IntN(100_000))), 600), 1, capacity.Usage{Table: 2})
				for k := range hot {
					if rng.IntN(hot) >= k {
						m.Count(capacity.Writing, described, place(t, text(fmt.Sprint("HOT#", k)), 600), 1, capacity.Usage{Table: 2})
					}
				}
			}
		})
	}
	wait.Wait()
	keys := m.Report(described, 659).Hottest
	if len(keys) != 16 {
		t.Fatalf("%d keys", len(keys))
	}
	for k := range hot {
		share := float64(writers*rounds) * float64(hot-k) / hot
		got := keys[k]
		if got.Key != fmt.Sprint("HOT#", k) || got.WriteUnits < share*0.9 || got.WriteUnits-got.Over > share*1.1 || got.PeakWrites < share*0.9-got.Over {
			t.Errorf("the %d. hottest is %+v, want about %.0f", k+1, got, share)
		}
	}
	if keys = m.Report(described, 660).Hottest; len(keys) != 16 || keys[0].Key != "HOT#0" {
		t.Errorf("a minute later: %+v", keys)
	}
	if keys = m.Report(described, 720).Hottest; len(keys) != 0 {
		t.Errorf("two minutes later: %+v", keys)
	}
}

func TestHottestInMinutes(t *testing.T) {
	m := capacity.NewTable(nil)
	count := func(d capacity.Direction, key string, second, halves int64, index int) {
		at := place(t, text(key), second)
		at.Index = index
		u := capacity.Usage{Table: halves}
		if index > 0 {
			u = capacity.Usage{}
			u.AddIndex(index-1, halves)
		}
		m.Count(d, described, at, 1, u)
	}
	count(capacity.Writing, "a", 59, 4, 0)
	count(capacity.Writing, "a", 60, 2, 0)
	count(capacity.Writing, "a", 60, 2, 0)
	count(capacity.Writing, "a", 61, 2, 0)
	count(capacity.Writing, "a", 30, 2, 0) // the clock went backwards
	count(capacity.Reading, "a", 61, 1, 0)
	count(capacity.Reading, "b", 62, 3, 2)
	want := []capacity.KeyUse{{Key: "a", ReadUnits: 0.5, WriteUnits: 6, PeakReads: 0.5, PeakWrites: 2}, {Key: "b", Index: "gsi2", ReadUnits: 1.5, PeakReads: 1.5}}
	if got := m.Report(described, 62).Hottest; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := m.Report(described, 200).Hottest; len(got) != 0 {
		t.Errorf("long after: %+v", got)
	}
}

// BenchmarkCount counts writes of many keys, from one goroutine and from several.
func BenchmarkCount(b *testing.B) {
	for _, keys := range []int{1, 100, 100_000} {
		m := capacity.NewTable(nil)
		places := make([]capacity.Access, keys)
		for i := range places {
			places[i] = place(b, text(fmt.Sprintf("SITE#%d#SHARD#%d", i, i%8)), 600)
		}
		u := capacity.Usage{Table: 2, Indexes: []int64{2}}
		b.Run(fmt.Sprint(keys, " keys"), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				m.Count(capacity.Writing, described, places[i%keys], 1, u)
			}
		})
		b.Run(fmt.Sprint(keys, " keys, parallel"), func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				for i := 0; p.Next(); i++ {
					m.Count(capacity.Writing, described, places[i%keys], 1, u)
				}
			})
		})
	}
}
