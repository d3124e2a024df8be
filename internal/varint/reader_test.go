package varint

import (
	"encoding/binary"
	"math"
	"testing"
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
