package sketch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

func testHash(n int) uint64 {
	return xxhash.Sum64(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func TestExactWhileSmall(t *testing.T) {
	var s Set
	for i := range maxExact {
		s.Add(testHash(i))
		s.Add(testHash(i / 2))
		if got := s.Count(); got != int64(i+1) {
			t.Fatalf("of %d: %d", i+1, got)
		}
	}
}

// TestError compares the error of many sets, at sizes up to a hundred thousand, with the specified
// 1.6 %.
func TestError(t *testing.T) {
	for _, n := range []int{600, 2_000, 10_000, 100_000} {
		const rounds = 40
		sum, bias := 0.0, 0.0
		for round := range rounds {
			var s Set
			for i := range n {
				s.Add(testHash(round*1_000_000 + i))
			}
			relative := float64(s.Count()-int64(n)) / float64(n)
			sum += relative * relative
			bias += relative
		}
		deviation, mean := math.Sqrt(sum/rounds), bias/rounds
		t.Logf("%7d: standard error %.2f %%, bias %+.2f %%", n, 100*deviation, 100*mean)
		if deviation > 0.022 || math.Abs(mean) > 0.01 {
			t.Errorf("%d: standard error %.4f, bias %.4f", n, deviation, mean)
		}
	}
}

func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SampledFrom([]int{0, 1, 40, 500, 700})
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		var parts [3]Set
		var all Set
		for i := range parts {
			for range sizes.Draw(t, "size") {
				h := testHash(r.IntN(1200))
				parts[i].Add(h)
				all.Add(h)
			}
		}
		merge := func(order ...int) (s Set) {
			for _, i := range order {
				s.Merge(parts[i])
			}
			return s
		}
		for _, got := range []Set{merge(0, 1, 2), merge(2, 0, 1), merge(1, 2, 0, 1)} {
			if !bytes.Equal(got, all) {
				t.Fatalf("%d bytes, count %d; want %d bytes, count %d", len(got), got.Count(), len(all), all.Count())
			}
		}
		var read Set
		av, err := all.MarshalDynamoDBAttributeValue()
		if err != nil {
			t.Fatal(err)
		}
		if err := read.UnmarshalDynamoDBAttributeValue(av); err != nil || !bytes.Equal(read, all) {
			t.Fatal("stored and read:", err)
		}
	})
}

func TestRefusesOtherBytes(t *testing.T) {
	for _, b := range [][]byte{{1, 2}, {3}, {2, 0}, append([]byte{1}, make([]byte, 8*(maxExact+1))...), {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1}} {
		var s Set
		if err := s.UnmarshalDynamoDBAttributeValue(&types.AttributeValueMemberB{Value: b}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%v: %v", b, err)
		}
	}
}
