package expr

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// projectionGrammar parses path { "," path }.
func projectionGrammar(p *parser) {
	never := func(string) bool { return false }
	p.path(never)
	for p.accept(',') {
		p.path(never)
	}
}

// Projection is a bound projection. It is immutable and safe for concurrent use.
type Projection struct {
	paths  []path // in the order of the text
	sorted []path
}

// Projection parses and binds a ProjectionExpression. Errors are of type *Error.
func (p *Parser) Projection(src string, with *Bindings) (*Projection, error) {
	t, err := p.parse(projections, ProjectionExpression, src)
	if err != nil {
		return nil, err
	}
	if flaw := first(t.flaws.depth, t.flaws.reserved); flaw != "" {
		return nil, &Error{Kind: ProjectionExpression, Reason: flaw}
	}
	b := newBinding(ProjectionExpression, t)
	for i := range b.paths {
		if err := b.resolvePath(i, with); err != nil {
			return nil, err
		}
	}
	if err := checkOverlap(ProjectionExpression, b.paths); err != nil {
		return nil, err
	}
	return &Projection{paths: b.paths, sorted: sortPaths(b.paths)}, nil
}

// sortPaths returns the paths sorted, so that those under one element are adjacent and indexes
// ascend.
func sortPaths(paths []path) []path {
	if slices.IsSortedFunc(paths, comparePaths) {
		return paths
	}
	sorted := slices.Clone(paths)
	slices.SortFunc(sorted, comparePaths)
	return sorted
}

// Roots returns the distinct top-level attributes that the projection reads, in order of
// appearance.
func (p *Projection) Roots() []string { return roots(p.paths) }

// NestedRoots returns the Roots that the projection reads only in part.
func (p *Projection) NestedRoots() []string { return nestedRoots(p.paths) }

// Apply returns the projection of an item: an empty item if it selects nothing, nil if there is no
// item. Selected list elements keep their order, without gaps. The result shares values with the
// item.
func (p *Projection) Apply(it item.Item) item.Item {
	if it == nil {
		return nil
	}
	return project(it, p.sorted)
}

// project selects sorted paths of an item.
func project(it item.Item, sorted []path) item.Item {
	out := make(item.Item, min(len(it), len(sorted)))
	selectFrom(it, sorted, 0, out)
	return out
}

// selectFrom adds to out what the paths select from a map. The paths agree in their first depth
// steps.
func selectFrom(m item.Item, sorted []path, depth int, out item.Item) {
	for group := range groups(sorted, depth) {
		name := group[0][depth].name
		if av := selectValue(m[name], group, depth+1); av != nil {
			out[name] = av
		}
	}
}

// selectValue returns what paths select from a value, or nil for nothing. The paths agree in their
// first depth steps.
func selectValue(av types.AttributeValue, group []path, depth int) types.AttributeValue {
	if av == nil || len(group[0]) == depth {
		return av
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberM:
		out := make(item.Item)
		if !group[0][depth].isIndex() {
			selectFrom(v.Value, group, depth, out)
		}
		if len(out) > 0 {
			return &types.AttributeValueMemberM{Value: out}
		}
	case *types.AttributeValueMemberL:
		var out []types.AttributeValue
		for sub := range groups(group, depth) {
			if e := selectValue(child(av, sub[0][depth]), sub, depth+1); e != nil {
				out = append(out, e)
			}
		}
		if len(out) > 0 {
			return &types.AttributeValueMemberL{Value: out}
		}
	}
	return nil
}

// groups yields the runs of sorted paths that agree in the step at depth.
func groups(sorted []path, depth int) func(yield func([]path) bool) {
	return func(yield func([]path) bool) {
		for len(sorted) > 0 {
			n := 1
			for n < len(sorted) && sorted[n][depth] == sorted[0][depth] {
				n++
			}
			if !yield(sorted[:n]) {
				return
			}
			sorted = sorted[n:]
		}
	}
}
