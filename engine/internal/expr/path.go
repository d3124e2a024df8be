package expr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// step is one element of a document path: an attribute name, or an index into a list.
type step struct {
	name  string // a placeholder while it begins with '#', which no literal name does; "" for an index
	index int    // -1 for a name
}

func nameStep(name string) step { return step{name: name, index: -1} }

func (s step) isIndex() bool { return s.index >= 0 }

// path is a document path. Its first step is a name.
type path []step

func (p path) root() string { return p[0].name }

// String is how DynamoDB prints a path in its messages: [a, [0], b].
func (p path) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, s := range p {
		if i > 0 {
			b.WriteString(", ")
		}
		if s.isIndex() {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		} else {
			b.WriteString(s.name)
		}
	}
	b.WriteByte(']')
	return b.String()
}

// compareSteps orders names before indexes, so that what shares a prefix stands together and lists come in order.
func compareSteps(a, b step) int {
	if a.index != b.index {
		return a.index - b.index
	}
	return strings.Compare(a.name, b.name)
}

func comparePaths(a, b path) int { return slices.CompareFunc(a, b, compareSteps) }

// lookup returns the value at a path, nil when there is none.
func lookup(it item.Item, p path) types.AttributeValue {
	av := it[p[0].name]
	for _, s := range p[1:] {
		av = child(av, s)
	}
	return av
}

// child returns one element of a list or map, nil when there is none.
func child(av types.AttributeValue, s step) types.AttributeValue {
	switch v := av.(type) {
	case *types.AttributeValueMemberM:
		if !s.isIndex() {
			return v.Value[s.name]
		}
	case *types.AttributeValueMemberL:
		if s.isIndex() && s.index < len(v.Value) {
			return v.Value[s.index]
		}
	}
	return nil
}

// roots returns the distinct top-level names of paths, in order of appearance.
func roots(paths []path) []string {
	var names []string
	for _, p := range paths {
		if !slices.Contains(names, p.root()) {
			names = append(names, p.root())
		}
	}
	return names
}

// nestedRoots returns the distinct top-level names that paths reach into.
func nestedRoots(paths []path) []string {
	var deep []path
	for _, p := range paths {
		if len(p) > 1 {
			deep = append(deep, p)
		}
	}
	return roots(deep)
}

// checkOverlap refuses two paths of which one contains the other, and two that disagree on whether something is a list
// or a map. DynamoDB reports the first before the second.
func checkOverlap(kind Kind, paths []path) error {
	var conflict error
	for j, b := range paths {
		for _, a := range paths[:j] {
			switch relate(a, b) {
			case overlapping:
				return refuse(kind, "Two document paths overlap with each other; must remove or rewrite one of these paths; "+
					"path one: %s, path two: %s", a, b)
			case conflicting:
				if conflict == nil {
					conflict = refuse(kind, "Two document paths conflict with each other; must remove or rewrite one of these "+
						"paths; path one: %s, path two: %s", a, b)
				}
			}
		}
	}
	return conflict
}

type relation int

const (
	apart relation = iota
	overlapping
	conflicting
)

func relate(a, b path) relation {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i].isIndex() != b[i].isIndex():
			return conflicting
		case a[i] != b[i]:
			return apart
		}
	}
	return overlapping
}
