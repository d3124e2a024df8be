package expr

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/internal/item"
)

// genValue draws values that use the same names and indexes as the paths of genPath.
func genValue(depth int) *rapid.Generator[types.AttributeValue] {
	return rapid.Custom(func(t *rapid.T) types.AttributeValue {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth == 0 {
			kind = kind % 3
		}
		switch kind {
		case 0:
			return &types.AttributeValueMemberN{Value: fmt.Sprint(rapid.IntRange(-9, 9).Draw(t, "n"))}
		case 1:
			return &types.AttributeValueMemberS{Value: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "s")}
		case 2:
			return &types.AttributeValueMemberNS{Value: rapid.SampledFrom([][]string{{"1"}, {"1", "2"}}).Draw(t, "ns")}
		case 3:
			return &types.AttributeValueMemberL{Value: rapid.SliceOfN(genValue(depth-1), 0, 3).Draw(t, "l")}
		}
		return &types.AttributeValueMemberM{Value: genItem(depth-1).Draw(t, "m")}
	})
}

func genItem(depth int) *rapid.Generator[item.Item] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), genValue(depth), 0, 3)
}

func genPath() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		p := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "root")
		for range rapid.IntRange(0, 2).Draw(t, "steps") {
			p += rapid.SampledFrom([]string{".a", ".b", ".c", "[0]", "[1]", "[2]"}).Draw(t, "step")
		}
		return p
	})
}

// TestUpdateReadsOld sets random paths to the values of other random paths, and checks each against
// the old item.
func TestUpdateReadsOld(t *testing.T) {
	p := NewParser(0)
	rapid.Check(t, func(t *rapid.T) {
		old := genItem(3).Draw(t, "old")
		before := item.CloneItem(old)
		var sets []string
		var from, to []path
		for range rapid.IntRange(1, 4).Draw(t, "actions") {
			target, source := genPath().Draw(t, "target"), genPath().Draw(t, "source")
			sets = append(sets, target+" = "+source)
			to, from = append(to, mustPath(t, p, target)), append(from, mustPath(t, p, source))
		}
		u, err := p.Update("SET "+strings.Join(sets, ", "), nil)
		var refused *Error
		if err != nil {
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "Two document paths") {
				t.Fatal(err)
			}
			return
		}
		out, err := u.Apply(old)
		if !item.EqualItems(old, before) {
			t.Fatalf("the old item became %s", printItem(old))
		}
		if err != nil {
			return
		}
		for i := range to {
			want := lookup(old, from[i])
			if got := lookup(out, to[i]); got == nil && isPastEnd(old, to[i]) {
				continue
			} else if !equal(got, want) {
				t.Fatalf("%s of %s: %s is %s, want %s", u.targets, printItem(old), to[i], printValue(got), printValue(want))
			}
		}
	})
}

// isPastEnd reports whether the last index of a path is past the end of its list, where SET
// appends.
func isPastEnd(it item.Item, p path) bool {
	l, ok := lookup(it, p[:len(p)-1]).(*types.AttributeValueMemberL)
	return ok && p[len(p)-1].index >= len(l.Value)
}

func mustPath(t *rapid.T, p *Parser, src string) path {
	proj, err := p.Projection(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	return proj.paths[0]
}

// TestRemoveTakesOffOriginalIndexes removes a random set of list indexes at once and compares the
// result with a filter of the list.
func TestRemoveTakesOffOriginalIndexes(t *testing.T) {
	p := NewParser(0)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "length")
		off := rapid.SliceOfNDistinct(rapid.IntRange(0, 10), 1, 6, rapid.ID[int]).Draw(t, "off")
		list, removed := &types.AttributeValueMemberL{}, map[int]bool{}
		paths := make([]string, len(off))
		for i, at := range off {
			removed[at], paths[i] = true, fmt.Sprintf("l[%d]", at)
		}
		want := &types.AttributeValueMemberL{}
		for i := range n {
			e := &types.AttributeValueMemberN{Value: fmt.Sprint(i)}
			list.Value = append(list.Value, e)
			if !removed[i] {
				want.Value = append(want.Value, e)
			}
		}
		u, err := p.Update("REMOVE "+strings.Join(paths, ", "), nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := u.Apply(item.Item{"l": list})
		if err != nil || !item.Equal(out["l"], want) {
			t.Fatalf("removing %v of %d: %s, %v", off, n, printItem(out), err)
		}
	})
}

// TestProjectionSelects checks that a projection of several paths contains the value at each path,
// and nothing else.
func TestProjectionSelects(t *testing.T) {
	p := NewParser(0)
	rapid.Check(t, func(t *rapid.T) {
		it := genItem(3).Draw(t, "item")
		paths := rapid.SliceOfN(genPath(), 1, 5).Draw(t, "paths")
		proj, err := p.Projection(strings.Join(paths, ", "), nil)
		if err != nil {
			return
		}
		out := proj.Apply(it)
		leaves := 0
		for _, q := range proj.paths {
			if lookup(it, q) == nil {
				continue
			}
			leaves++
			if got := project(out, []path{compacted(it, q, proj.paths)}); !containsValue(got, lookup(it, q)) {
				t.Fatalf("%v of %s is %s, without %s", paths, printItem(it), printItem(out), q)
			}
		}
		if leaves == 0 && len(out) > 0 {
			t.Fatalf("%v of %s is %s", paths, printItem(it), printItem(out))
		}
	})
}

// compacted returns the position of a path of an item in the projection of the item to paths.
func compacted(it item.Item, p path, paths []path) path {
	out := append(path{}, p...)
	for i, s := range p {
		if !s.isIndex() {
			continue
		}
		before := map[int]bool{}
		for _, q := range paths {
			if len(q) > i && slicesEqual(q[:i], p[:i]) && q[i].isIndex() && q[i].index < s.index && lookup(it, q) != nil {
				before[q[i].index] = true
			}
		}
		out[i].index = len(before)
	}
	return out
}

func slicesEqual(a, b path) bool { return comparePaths(a, b) == 0 }

// containsValue looks for a value at the end of the only branch of an item.
func containsValue(it item.Item, want types.AttributeValue) bool {
	var av types.AttributeValue = &types.AttributeValueMemberM{Value: it}
	for {
		if item.Equal(av, want) {
			return true
		}
		switch v := av.(type) {
		case *types.AttributeValueMemberM:
			if len(v.Value) != 1 {
				return false
			}
			for _, e := range v.Value {
				av = e
			}
		case *types.AttributeValueMemberL:
			if len(v.Value) != 1 {
				return false
			}
			av = v.Value[0]
		default:
			return false
		}
	}
}

// TestLimits checks DynamoDB's limits on expressions, on both sides of each limit.
func TestLimits(t *testing.T) {
	values := map[string]types.AttributeValue{":v": &types.AttributeValueMemberN{Value: "1"}}
	and := func(n int) string { return strings.TrimSuffix(strings.Repeat("a=:v AND ", n), " AND ") }
	in := func(n int) string { return "a IN (" + strings.TrimSuffix(strings.Repeat(":v,", n), ",") + ")" }
	tests := []struct{ name, src, want string }{
		{"empty", "", "Invalid ConditionExpression: The expression can not be empty;"},
		{"blank", " \t\r\n", "Invalid ConditionExpression: The expression can not be empty;"},
		{"4096 bytes", "a=:v" + strings.Repeat(" ", 4092), ""},
		{"4097 bytes", "a=:v" + strings.Repeat(" ", 4093), "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; expression size: 4097"},
		{"299 operators", and(150), ""},
		{"301 operators", and(151), "Invalid ConditionExpression: The expression contains too many operators; operator count: 301"},
		{"909 operators", strings.Repeat("a<b or (", 454) + "a<b" + strings.Repeat(")", 454), "Invalid ConditionExpression: The expression contains too many operators; operator count: 301"},
		{"100 operands", in(100), ""},
		{"101 operands", in(101), "Invalid ConditionExpression: The IN operator is provided with too many operands; number of operands: 101"},
		{"path of 32", "a" + strings.Repeat(".b", 31) + "=:v", ""},
		{"path of 33", "a" + strings.Repeat(".b", 32) + "=:v", "Invalid ConditionExpression: The document path has too many nesting levels; nesting levels: 33"},
		{"deep parentheses", strings.Repeat("(", 4000), `Invalid ConditionExpression: Syntax error; token: "(", near: "((("`},
		{"deep NOT", strings.Repeat("NOT ", 1020), `Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "NOT"`},
	}
	p := NewParser(2)
	for _, tt := range tests {
		b, err := NewBindings(nil, values)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Condition(ConditionExpression, tt.src, b)
		if got := fmt.Sprint(err); got != tt.want && (tt.want != "" || err != nil) {
			t.Errorf("%s: %s, want %q", tt.name, got, tt.want)
		}
	}
}

// TestManySets checks that assignments do not count as operators: only the length limits their
// number.
func TestManySets(t *testing.T) {
	sets := make([]string, 500)
	for i := range sets {
		sets[i] = fmt.Sprintf("a%d=b", i)
	}
	if _, err := NewParser(0).Update("SET "+strings.Join(sets, ","), nil); err != nil {
		t.Error(err)
	}
}

func TestLongPlaceholder(t *testing.T) {
	for length, want := range map[int]string{255: "<nil>",
		256: "ExpressionAttributeNames contains invalid key: The expression attribute map contains a key that is too long; size of key: 256"} {
		_, err := NewBindings(map[string]string{"#" + strings.Repeat("a", length-1): "a"}, nil)
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%d bytes: %s", length, got)
		}
	}
}

// TestLargeValues checks the limit on the total size of names and values.
func TestLargeValues(t *testing.T) {
	for size, ok := range map[int]bool{maxBound - 3: true, maxBound - 2: false} {
		half := &types.AttributeValueMemberB{Value: make([]byte, size/2)}
		rest := &types.AttributeValueMemberB{Value: make([]byte, size-size/2)}
		_, err := NewBindings(map[string]string{"#n": "abc"}, map[string]types.AttributeValue{":v": half, ":w": rest})
		if (err == nil) != ok {
			t.Errorf("%d bytes of values: %v", size, err)
		}
	}
}

// TestCreate checks what item an update creates if none exists.
func TestCreate(t *testing.T) {
	values := item.Item{":v": &types.AttributeValueMemberN{Value: "1"}, ":s": &types.AttributeValueMemberSS{Value: []string{"a"}}}
	for src, want := range map[string]string{
		"SET a = :v": `{"a": 1, "pk": "k"}`, "ADD a :v REMOVE b.c": `{"a": 1, "pk": "k"}`, "REMOVE a.b, c[1]": "{}", "DELETE a :s": "{}",
	} {
		b, err := NewBindings(nil, values)
		if err != nil {
			t.Fatal(err)
		}
		u, err := NewParser(0).Update(src, b)
		if err != nil {
			t.Fatal(err)
		}
		out, err := u.Create(item.Item{"pk": &types.AttributeValueMemberS{Value: "k"}})
		if err != nil || printItem(out) != want {
			t.Errorf("%s: %s, %v; want %s", src, printItem(out), err, want)
		}
	}
}

func TestReservedWords(t *testing.T) {
	if len(reserved) != 573 {
		t.Errorf("%d reserved words, want 573", len(reserved))
	}
	for word := range reserved {
		if len(word) > longestReserved || !isReserved(strings.ToLower(word)) {
			t.Errorf("%s is not found", word)
		}
	}
	if isReserved("pk") || isReserved("LOCALTIMESTAMPS") {
		t.Error("words that are not reserved are")
	}
}

// addSeeds adds the expressions of testdata to a fuzz target.
func addSeeds(f *testing.F) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, test := range strings.Split(string(text), "\n\n") {
			if lines := strings.SplitN(test, "\n", 3); len(lines) == 3 && lines[0] != "item" {
				f.Add(lines[1])
			}
		}
	}
}

// FuzzExpressions parses arbitrary text as each of the five kinds and evaluates what is accepted.
func FuzzExpressions(f *testing.F) {
	addSeeds(f)
	values := item.Item{":v": &types.AttributeValueMemberN{Value: "1"}, ":w": &types.AttributeValueMemberN{Value: "2"},
		":p": &types.AttributeValueMemberS{Value: "P"}, ":s": &types.AttributeValueMemberSS{Value: []string{"a"}},
		":e": &types.AttributeValueMemberL{}}
	it := parseItem(f, `{"a": 1, "s": "x", "m": {"x": 1, "y": {"z": 2}}, "l": [0, {"y": 1}, 2], "ss": {"$SS": ["p", "q"]}}`)
	f.Fuzz(func(t *testing.T, src string) {
		p := NewParser(1)
		b, err := NewBindings(map[string]string{"#a": "a", "#n": "name", "#x": "x"}, values)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := p.Condition(FilterExpression, src, b); err == nil {
			for _, it := range []item.Item{nil, it} {
				if _, err := c.Eval(it); err != nil {
					t.Fatal(err)
				}
			}
		}
		if k, err := p.KeyCondition(src, b); err == nil {
			if hash, _, err := k.Resolve([]string{"a"}, []string{"s"}); err == nil && len(hash) != 1 {
				t.Fatal("no partition")
			}
		}
		if proj, err := p.Projection(src, b); err == nil && len(proj.Apply(it)) > len(it) {
			t.Fatal("more than there is")
		}
		if u, err := p.Update(src, b); err == nil {
			checkUpdate(t, u, it)
		}
	})
}

func checkUpdate(t *testing.T, u *Update, it item.Item) {
	before := item.CloneItem(it)
	out, err := u.Apply(it)
	if !item.EqualItems(before, it) {
		t.Fatal("the old item was changed")
	}
	if _, err := u.Create(item.Item{}); err != nil {
		return
	}
	if err != nil {
		return
	}
	if _, err := item.Normalize(out); err != nil {
		t.Fatalf("%s cannot be stored: %v", printItem(out), err)
	}
	u.Project(out)
}

func BenchmarkCondition(b *testing.B) {
	it := item.Item{"pk": &types.AttributeValueMemberS{Value: "x"}, "version": &types.AttributeValueMemberN{Value: "41"},
		"state": &types.AttributeValueMemberS{Value: "open"}}
	values := map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: "41"}, ":s": &types.AttributeValueMemberS{Value: "open"}}
	p := NewParser(16)
	for _, src := range []string{"attribute_not_exists(pk)", "version = :n AND #s = :s", "version > :n OR size(pk) > :n OR #s IN (:s)"} {
		bind := func() *Condition {
			var names map[string]string
			if strings.Contains(src, "#s") {
				names = map[string]string{"#s": "state"}
			}
			bound, err := NewBindings(names, values)
			if err != nil {
				b.Fatal(err)
			}
			c, err := p.Condition(ConditionExpression, src, bound)
			if err != nil {
				b.Fatal(err)
			}
			return c
		}
		b.Run("bind/"+src, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bind()
			}
		})
		b.Run("eval/"+src, func(b *testing.B) {
			c := bind()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Eval(it); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	p := NewParser(16)
	values := map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}}
	old := item.Item{"pk": &types.AttributeValueMemberS{Value: "x"}, "hits": &types.AttributeValueMemberN{Value: "41"}}
	b.ReportAllocs()
	for b.Loop() {
		bound, err := NewBindings(nil, values)
		if err != nil {
			b.Fatal(err)
		}
		u, err := p.Update("SET hits = if_not_exists(hits, :one) + :one", bound)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := u.Apply(old); err != nil {
			b.Fatal(err)
		}
	}
}
