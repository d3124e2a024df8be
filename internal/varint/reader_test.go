package varint

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/onefold/onefold/internal/seeds"
)

func TestReader(t *testing.T) {
	b := binary.AppendUvarint(nil, math.MaxUint64)
	b = binary.AppendVarint(b, math.MinInt64)
	b = binary.AppendUvarint(b, 3)
	b = append(b, "abc"...)
	r := NewReader(b)
	if n := r.Uint(); n != math.MaxUint64 {
		t.Errorf("uint %d", n)
	}
	if n := r.Int(); n != math.MinInt64 {
		t.Errorf("int %d", n)
	}
	if text := r.Bytes(r.Uint() - 2); string(text) != "a" {
		t.Errorf("bytes %q", text)
	}
	if text := r.Rest(); string(text) != "bc" {
		t.Errorf("the rest is %q", text)
	}
	if r.More() || r.Failed() {
		t.Errorf("more %v, failed %v", r.More(), r.Failed())
	}
}

// Malformed data fails, and the failure persists.
func TestReaderFails(t *testing.T) {
	for name, read := range map[string]func(*Reader){
		"no number":          func(r *Reader) { r.Bytes(3); r.Uint() },
		"no signed number":   func(r *Reader) { r.Bytes(3); r.Int() },
		"a number cut short": func(r *Reader) { r.Bytes(2); r.Uint() },
		"too many bytes":     func(r *Reader) { r.Bytes(4) },
		"far too many bytes": func(r *Reader) { r.Bytes(math.MaxUint64) },
		"too many things":    func(r *Reader) { r.Count() },
		"nonsense":           func(r *Reader) { r.Fail() },
	} {
		r := NewReader([]byte{9, 1, 0x80})
		read(&r)
		if !r.Failed() || r.More() {
			t.Errorf("%s: failed %v", name, r.Failed())
		}
		if u, i, n, b := r.Uint(), r.Int(), r.Count(), r.Bytes(1); u != 0 || i != 0 || n != 0 || len(b) != 0 {
			t.Errorf("%s: then %d, %d, %d, %v", name, u, i, n, b)
		}
	}
}

// Numbers that are read or skipped together are those that are read one by one, in damaged data too.
func TestReaderMany(t *testing.T) {
	random := rand.New(rand.NewPCG(seeds.One(t), 0))
	for range 20_000 {
		var b []byte
		for range random.IntN(6) {
			b = binary.AppendUvarint(b, random.Uint64()>>random.IntN(64))
		}
		if len(b) > 0 && random.IntN(2) == 0 {
			b[random.IntN(len(b))] ^= 0x80
		}
		n := random.IntN(8)
		uints, ints := NewReader(b), NewReader(b)
		wantUints, wantInts := make([]int64, n), make([]int64, n)
		for i := range n {
			wantUints[i], wantInts[i] = int64(uints.Uint()), ints.Int()
		}
		for _, one := range []struct {
			read func(*Reader, []int64)
			then Reader
			want []int64
		}{
			{(*Reader).Uints, uints, wantUints}, {(*Reader).Ints, ints, wantInts},
			{func(r *Reader, got []int64) { r.Skip(n); copy(got, wantUints) }, uints, wantUints},
		} {
			r, got := NewReader(b), slices.Repeat([]int64{7}, n)
			if one.read(&r, got); !slices.Equal(got, one.want) || r.Failed() != one.then.Failed() || r.More() != one.then.More() || !bytes.Equal(r.Rest(), one.then.Rest()) {
				t.Fatalf("%x: %d, not %d; failed %v", b, got, one.want, r.Failed())
			}
		}
	}
}
