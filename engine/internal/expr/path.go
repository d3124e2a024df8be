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
	name  string // a placeholder if it begins with '#', which literal names cannot; "" for an index
	index int    // -1 for a name
}

func nameStep(name string) step { return step{name: name, index: -1} }

func (s step) isIndex() bool { return s.index >= 0 }

// path is a document path. Its first step is a name.
type path []step

func (p path) root() string { return p[0].name }

// String formats a path as in DynamoDB's messages: [a, [0], b].
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

// compareSteps orders indexes after names. Paths with a common prefix are then adjacent, and list
// elements are in order.
func compareSteps(a, b step) int {
	if a.index != b.index {
		return a.index - b.index
	}
	return strings.Compare(a.name, b.name)
}

func comparePaths(a, b path) int { return slices.CompareFunc(a, b, compareSteps) }

// lookup returns the value at a path, or nil.
func lookup(it item.Item, p path) types.AttributeValue {
	av := it[p[0].name]
	for _, s := range p[1:] {
		av = child(av, s)
	}
	return av
}

// child returns one element of a list or map, or nil.
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

// nestedRoots returns the distinct top-level names of paths with more than one step.
func nestedRoots(paths []path) []string {
	var deep []path
	for _, p := range paths {
		if len(p) > 1 {
			deep = append(deep, p)
		}
	}
	return roots(deep)
}

// checkOverlap rejects two paths of which one contains the other, or which disagree whether an
// element is a list or a map. DynamoDB reports overlaps first.
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
