package keyenc

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/internal/item"
)

func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
func str(s string) types.AttributeValue    { return &types.AttributeValueMemberS{Value: s} }
func binary(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func encode(t rapid.TB, av types.AttributeValue) []byte {
	t.Helper()
	b, err := Append(nil, av)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func genNumber() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		digits := rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits")
		exp := rapid.OneOf(rapid.IntRange(-3, 3), rapid.IntRange(-165, 125)).Draw(t, "exp")
		return rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + digits + "e" + strconv.Itoa(exp)
	}).Filter(func(s string) bool { _, err := item.ParseNumber(s); return err == nil })
}

// TestNumberOrder checks the property that the engine's ranges rely on: encoded bytes compare as
// the numbers do.
func TestNumberOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		as := genNumber().Draw(t, "a")
		bs := rapid.OneOf(genNumber(), rapid.Just(as+"0"), rapid.Just(strings.Replace(as, "e", ".0e", 1))).
			Filter(func(s string) bool { _, err := item.ParseNumber(s); return err == nil }).Draw(t, "b")
		da, _, err := apd.NewFromString(as)
		if err != nil {
			t.Fatal(err)
		}
		db, _, err := apd.NewFromString(bs)
		if err != nil {
			t.Fatal(err)
		}
		a, b := encode(t, number(as)), encode(t, number(bs))
		if got, want := bytes.Compare(a, b), da.Cmp(db); got != want {
			t.Fatalf("%s and %s compare %d, their keys %x and %x compare %d", as, bs, want, a, b, got)
		}
		if len(a) > 22 {
			t.Fatalf("%s takes %d bytes", as, len(a))
		}
		checkDecode(t, number(as), a)
	})
}

func TestTextOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOf(rapid.OneOf(rapid.SampledFrom([]byte{0, 1, 2, 0xfe, 0xff}), rapid.Byte()))
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		for _, make := range []func([]byte) types.AttributeValue{binary, func(b []byte) types.AttributeValue { return str(string(b)) }} {
			ka, kb := encode(t, make(a)), encode(t, make(b))
			if bytes.Compare(ka, kb) != bytes.Compare(a, b) {
				t.Fatalf("%x and %x: keys %x and %x", a, b, ka, kb)
			}
			if !bytes.Equal(a, b) && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
				t.Fatalf("one of %x and %x is a prefix of the other", ka, kb)
			}
			prefix, err := AppendPrefix(nil, make(b))
			if err != nil || bytes.HasPrefix(ka, prefix) != bytes.HasPrefix(a, b) {
				t.Fatalf("%x begins with %x: key %x, prefix %x, %v", a, b, ka, prefix, err)
			}
			checkDecode(t, make(a), ka)
		}
	})
}

func checkDecode(t *rapid.T, av types.AttributeValue, key []byte) {
	got, rest, err := Decode(append(bytes.Clone(key), "rest"...))
	if err != nil || string(rest) != "rest" || !item.Equal(got, av) {
		t.Fatalf("%x decodes to %v, %q, %v; want %v", key, got, rest, err, av)
	}
	if rest, err := Skip(append(bytes.Clone(key), "rest"...)); err != nil || string(rest) != "rest" {
		t.Fatalf("Skip(%x) = %q, %v", key, rest, err)
	}
}

// TestConcatenation shows that concatenated attributes compare attribute by attribute.
func TestConcatenation(t *testing.T) {
	in := [][2]types.AttributeValue{
		{number("-1e125"), str("z")}, {number("-2"), str("")}, {number("-1.5"), str("a")}, {number("-1"), str("b")},
		{number("0"), str("\x00")}, {number("1"), str("")}, {number("1"), str("\x00")}, {number("1"), str("a")},
		{number("1.01"), str("")}, {number("1.5"), str("")}, {number("10"), str("")}, {number("100"), str("")},
	}
	var last []byte
	for _, pair := range in {
		key := append(encode(t, pair[0]), encode(t, pair[1])...)
		if bytes.Compare(last, key) >= 0 {
			t.Errorf("%v sorts before the pair above it", pair)
		}
		last = key
	}
}

func TestErrors(t *testing.T) {
	if _, err := Append(nil, &types.AttributeValueMemberBOOL{}); !errors.Is(err, ErrType) {
		t.Error(err)
	}
	if _, err := Append(nil, number("1e126")); !errors.Is(err, item.ErrOverflow) {
		t.Error(err)
	}
	if _, err := AppendPrefix(nil, number("1")); !errors.Is(err, ErrType) {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, av := range []types.AttributeValue{number("-12.5"), number("0"), number("1e125"), str("a\x00b"), binary([]byte{0})} {
		f.Add(encode(f, av))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		av, rest, err := Decode(b)
		if err != nil {
			return
		}
		if key := encode(t, av); !bytes.Equal(append(key, rest...), b) {
			t.Fatalf("%x decodes to %v, which is %x", b, av, key)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for name, av := range map[string]types.AttributeValue{"S": str("SITE#my-site#SHARD#3"), "N": number("1715520000123")} {
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, 0, 64)
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = Append(buf[:0], av); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
