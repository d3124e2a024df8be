package item

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

// genValue draws a value that Normalize accepts, nested at most depth more levels.
func genValue(depth int) *rapid.Generator[types.AttributeValue] {
	scalars := []*rapid.Generator[types.AttributeValue]{
		rapid.Map(rapid.String(), func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }),
		rapid.Map(genValidNumber(), func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }),
		rapid.Map(rapid.Bool(), func(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }),
		rapid.Just[types.AttributeValue](&types.AttributeValueMemberNULL{Value: true}),
		rapid.Map(rapid.SliceOfNDistinct(rapid.String(), 1, 12, rapid.ID[string]), func(s []string) types.AttributeValue {
			return &types.AttributeValueMemberSS{Value: s}
		}),
		rapid.Map(rapid.SliceOfNDistinct(rapid.Int(), 1, 12, rapid.ID[int]), func(is []int) types.AttributeValue {
			ns := &types.AttributeValueMemberNS{}
			for _, i := range is {
				ns.Value = append(ns.Value, strconv.Itoa(i))
			}
			return ns
		}),
		rapid.Map(rapid.SliceOfNDistinct(rapid.String(), 1, 12, rapid.ID[string]), func(s []string) types.AttributeValue {
			bs := &types.AttributeValueMemberBS{}
			for _, m := range s {
				bs.Value = append(bs.Value, []byte(m))
			}
			return bs
		}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	lists := rapid.Map(rapid.SliceOfN(genValue(depth-1), 0, 4), func(l []types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberL{Value: l}
	})
	maps := rapid.Map(rapid.MapOfN(rapid.StringN(1, -1, -1), genValue(depth-1), 0, 4), func(m map[string]types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: m}
	})
	return rapid.OneOf(append(scalars, lists, maps)...)
}

func genValidNumber() *rapid.Generator[string] {
	return genNumber().Filter(func(s string) bool { _, err := ParseNumber(s); return err == nil })
}

func genItem() *rapid.Generator[Item] {
	return rapid.MapOfN(rapid.OneOf(rapid.StringMatching(`[a-e]`), rapid.StringN(1, -1, -1)), genValue(3), 0, 8)
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it, err := Normalize(genItem().Draw(t, "item"))
		if err != nil {
			t.Fatal(err)
		}
		b := Append([]byte("prefix"), it)[len("prefix"):]
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if !EqualItems(it, got) {
			t.Fatalf("decoded %v, want %v", got, it)
		}
		if Size(got) != Size(it) {
			t.Fatalf("size %d after, %d before", Size(got), Size(it))
		}
		if again := Append(nil, CloneItem(got)); !bytes.Equal(again, b) {
			t.Fatal("one item, two encodings")
		}
		for name, av := range it {
			v, ok, err := Lookup(b, name)
			if err != nil || !ok || !Equal(v, av) {
				t.Fatalf("Lookup(%q) = %v, %v, %v", name, v, ok, err)
			}
		}
		absent := rapid.String().Draw(t, "absent")
		_, want := it[absent]
		if _, has, err := Lookup(b, absent); err != nil || has != want {
			t.Fatalf("Lookup(%q) = %v, %v", absent, has, err)
		}
		names := slices.Sorted(maps.Keys(it))
		wanted := rapid.SliceOf(rapid.SampledFrom(append(names, "absent"))).Draw(t, "wanted")
		only, err := DecodeOnly(b, wanted)
		if err != nil {
			t.Fatal(err)
		}
		for name, av := range it {
			if got, ok := only[name]; ok != slices.Contains(wanted, name) || (ok && !Equal(got, av)) {
				t.Fatalf("DecodeOnly(%q) = %v", wanted, only)
			}
		}
	})
}

// TestEqualItemsHaveEqualBytes checks the property that lets the engine detect a write that changes
// nothing by comparing bytes.
func TestEqualItemsHaveEqualBytes(t *testing.T) {
	a := Item{"s": &types.AttributeValueMemberSS{Value: []string{"b", "a"}}, "n": &types.AttributeValueMemberN{Value: "1.50"},
		"ns": &types.AttributeValueMemberNS{Value: []string{"10", "9", "-1e1"}}, "bs": &types.AttributeValueMemberBS{Value: [][]byte{{2}, {1}}}}
	b := Item{"s": &types.AttributeValueMemberSS{Value: []string{"a", "b"}}, "n": &types.AttributeValueMemberN{Value: "15e-1"},
		"ns": &types.AttributeValueMemberNS{Value: []string{"9", "-10", "1e1"}}, "bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}}}
	na, errA := Normalize(a)
	nb, errB := Normalize(b)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if !bytes.Equal(Append(nil, na), Append(nil, nb)) || !EqualItems(na, nb) {
		t.Error("equal items differ")
	}
	if a["s"].(*types.AttributeValueMemberSS).Value[0] != "b" || a["n"].(*types.AttributeValueMemberN).Value != "1.50" {
		t.Error("Normalize or Append changed its argument")
	}
}

func TestNormalizeErrors(t *testing.T) {
	tests := []struct {
		name string
		av   types.AttributeValue
		want error
		text string
	}{
		{"nil", nil, ErrNoType, ""},
		{"null", &types.AttributeValueMemberNULL{}, ErrNull, ""},
		{"ss", &types.AttributeValueMemberSS{}, ErrEmptyStringSet, ""},
		{"ns", &types.AttributeValueMemberNS{}, ErrEmptyNumberSet, ""},
		{"bs", &types.AttributeValueMemberBS{}, ErrEmptyBinarySet, ""},
		{"ss twice", &types.AttributeValueMemberSS{Value: []string{"a", "a"}}, ErrDuplicate,
			"One or more parameter values were invalid: Input collection [a, a] contains duplicates."},
		{"bs twice", &types.AttributeValueMemberBS{Value: [][]byte{{1}, {1}}}, ErrDuplicate,
			"One or more parameter values were invalid: Input collection [AQ==, AQ==]of type BS contains duplicates."},
		{"ns twice", &types.AttributeValueMemberNS{Value: []string{"1", "1.0"}}, ErrDuplicate, "Input collection contains duplicates"},
		{"ns twice, many", &types.AttributeValueMemberNS{Value: strings.Fields("1 2 3 4 5 6 7 8 9 10 1e0")}, ErrDuplicate, ""},
		{"number", &types.AttributeValueMemberN{Value: "x"}, ErrNotNumeric, ""},
		{"in a list", &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberSS{}}}, ErrEmptyStringSet, ""},
		{"in a map", &types.AttributeValueMemberM{Value: Item{"a": &types.AttributeValueMemberN{Value: "1e126"}}}, ErrOverflow, ""},
		{"deep", nested(MaxNesting), ErrNesting, ""},
	}
	for _, tt := range tests {
		_, err := Normalize(Item{"a": tt.av})
		if !errors.Is(err, tt.want) || (tt.text != "" && err.Error() != tt.text) {
			t.Errorf("%s: %v, want %v %s", tt.name, err, tt.want, tt.text)
		}
	}
}

// nested wraps a scalar in the given number of maps.
func nested(wraps int) types.AttributeValue {
	var av types.AttributeValue = &types.AttributeValueMemberS{Value: "leaf"}
	for range wraps {
		av = &types.AttributeValueMemberM{Value: Item{"n": av}}
	}
	return av
}

func TestDeepestValueIsStored(t *testing.T) {
	it, err := Normalize(Item{"a": nested(MaxNesting - 1)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(Append(nil, it)); err != nil || !EqualItems(it, got) {
		t.Fatal(err)
	}
	if _, err := Decode(Append(nil, Item{"a": nested(MaxNesting)})); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("a value that cannot have been stored: %v", err)
	}
}

func TestSize(t *testing.T) {
	it := Item{
		"pk":   &types.AttributeValueMemberS{Value: "é"},                                                       // 2 + 2
		"n":    &types.AttributeValueMemberN{Value: "-12.5"},                                                   // 1 + 1+1+1+1
		"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberBOOL{}}}, // 4 + 3+1+1
		"map":  &types.AttributeValueMemberM{Value: Item{"k": &types.AttributeValueMemberNULL{Value: true}}},   // 3 + 3+1+1+1
		"ss":   &types.AttributeValueMemberSS{Value: []string{"ab", "c"}},                                      // 2 + 3
		"ns":   &types.AttributeValueMemberNS{Value: []string{"1", "100"}},                                     // 2 + 4
		"bs":   &types.AttributeValueMemberBS{Value: [][]byte{{1, 2, 3}}},                                      // 2 + 3
		"b":    &types.AttributeValueMemberB{Value: []byte{1, 2}},                                              // 1 + 2
	}
	if got, want := Size(it), 4+5+9+9+5+6+5+3; got != want {
		t.Errorf("size %d, want %d", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{version, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add(Append(nil, Item{"a": nested(5), "b": &types.AttributeValueMemberNS{Value: []string{"1", "0.5"}},
		"c": &types.AttributeValueMemberBS{Value: [][]byte{{1}}}, "d": &types.AttributeValueMemberL{}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		it, err := Decode(b)
		if _, derr := DecodeOnly(b, []string{"a", "c"}); err == nil && derr != nil {
			t.Fatalf("Decode accepts what DecodeOnly refuses: %v", derr)
		}
		if _, _, lerr := Lookup(b, "a"); err == nil && lerr != nil {
			t.Fatalf("Decode accepts what Lookup refuses: %v", lerr)
		}
		if err != nil {
			return
		}
		again, err := Decode(Append(nil, it))
		if err != nil || !EqualItems(it, again) {
			t.Fatalf("%v does not survive: %v, %v", it, again, err)
		}
	})
}

func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"0", "-1.5e10", "1e125", "00.10", "9e-130", "e", "+"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseNumber(s)
		if err != nil {
			return
		}
		if again, err := ParseNumber(n.String()); err != nil || again != n {
			t.Fatalf("%q: %v spelled %q reads %v, %v", s, n, n.String(), again, err)
		}
		if size := numberSize(n.String()); size != n.Size() {
			t.Fatalf("%s: size %d by text, %d by value", n, size, n.Size())
		}
		if canonical, err := canonicalNumber(s); err != nil || canonical != n.String() {
			t.Fatalf("%q: canonicalNumber says %q, %v", s, canonical, err)
		}
	})
}
