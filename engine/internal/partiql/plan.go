package partiql

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// maxReads is the maximum number of partition reads for a SELECT.
const maxReads = 50

// read is one request of a SELECT.
type read struct {
	hash   types.AttributeValue // nil for a scan
	sort   *node                // the sort key condition that bounds the read, or nil
	within interval             // possible sort keys
	filter []*node              // other conditions
	vague  bool                 // the filter negates a condition on the sort key
}

// planner finds the reads that answer a condition.
//
// It expands the condition as far as it concerns keys: each OR and each IN that names a key becomes
// several branches, and each branch must require the partition key to equal a single value. If all
// do, each branch becomes a read of one partition; reads of the same partition must not overlap.
// Otherwise everything is scanned.
type planner struct {
	lits      *values
	hash, rng catalog.Key
	loose     bool // key values may have any type
	excess    bool
}

// branch is one alternative of a condition.
type branch struct {
	hashes []types.AttributeValue // distinct values that the partition key must equal
	sorts  []*node                // conditions that bound the sort key
	rest   []*node
}

// plan returns the reads for a condition, and whether they are reads of single partitions.
func (p *planner) plan(where *node) (reads []read, keyed bool, err error) {
	scan := []read{{filter: where.conjuncts()}}
	if where == nil || !p.keyed(where) {
		return scan, false, nil
	}
	branches, err := p.spread(where)
	if err != nil {
		return nil, false, err
	}
	if p.excess {
		return nil, false, request.Invalid("Too many decomposed read operations for a given query.")
	}
	for _, b := range branches {
		if len(b.hashes) != 1 {
			return scan, false, nil
		}
		r, err := p.read(b)
		if err != nil {
			return nil, false, err
		}
		reads = append(reads, r)
	}
	reads, err = p.merge(reads)
	return reads, true, err
}

// keyed reports whether every branch of a condition requires a value of the partition key.
func (p *planner) keyed(n *node) bool {
	switch n.op {
	case opAnd:
		return slices.ContainsFunc(n.args, p.keyed)
	case opOr:
		return !slices.ContainsFunc(n.args, func(a *node) bool { return !p.keyed(a) })
	case opIn:
		return p.chooses(n, p.hash.Name)
	}
	attr, _ := equality(n)
	return attr == p.hash.Name
}

// chooses reports whether a condition is attr IN values.
func (p *planner) chooses(n *node, attr string) bool {
	if n.op != opIn || attr == "" || !n.args[0].isAttr() || n.args[0].path[0].name != attr {
		return false
	}
	return !slices.ContainsFunc(n.args[1:], func(a *node) bool { return !a.isValue() })
}

func (p *planner) namesKey(n *node) bool {
	return n.names(p.hash.Name) || p.rng.Name != "" && n.names(p.rng.Name)
}

// spread returns the branches of a condition, and records if there are too many.
func (p *planner) spread(n *node) ([]branch, error) {
	switch {
	case n.op == opAnd:
		return p.product(n.args)
	case n.op == opOr && p.namesKey(n):
		return p.union(n.args)
	case p.chooses(n, p.hash.Name), p.chooses(n, p.rng.Name):
		either := make([]*node, len(n.args)-1)
		for i, v := range n.args[1:] {
			either[i] = &node{op: opEQ, at: n.at, args: []*node{n.args[0], v}}
		}
		return p.union(either)
	}
	b, err := p.leaf(n)
	return []branch{b}, err
}

func (p *planner) union(ns []*node) (all []branch, err error) {
	for _, a := range ns {
		part, err := p.spread(a)
		if err != nil || p.excess {
			return nil, err
		}
		all = append(all, part...)
		if p.excess = len(all) > maxReads; p.excess {
			return nil, nil
		}
	}
	return all, nil
}

func (p *planner) product(ns []*node) ([]branch, error) {
	all := []branch{{}}
	for _, a := range ns {
		part, err := p.spread(a)
		if err != nil || p.excess {
			return nil, err
		}
		if p.excess = len(all)*len(part) > maxReads; p.excess {
			return nil, nil
		}
		next := make([]branch, 0, len(all)*len(part))
		for _, x := range all {
			for _, y := range part {
				next = append(next, x.and(y))
			}
		}
		all = next
	}
	return all, nil
}

// and returns the conjunction of two branches.
func (b branch) and(o branch) branch {
	both := branch{hashes: slices.Clone(b.hashes), sorts: slices.Concat(b.sorts, o.sorts), rest: slices.Concat(b.rest, o.rest)}
	for _, av := range o.hashes {
		if !slices.ContainsFunc(both.hashes, func(x types.AttributeValue) bool { return item.Equal(x, av) }) {
			both.hashes = append(both.hashes, av)
		}
	}
	return both
}

// leaf returns the branch of a single condition.
func (p *planner) leaf(n *node) (branch, error) {
	if attr, operand := equality(n); attr == p.hash.Name {
		av, err := p.lits.of(operand)
		return branch{hashes: []types.AttributeValue{av}}, err
	}
	if p.rng.Name != "" && bounds(n, p.rng.Name) {
		return branch{sorts: []*node{n}}, nil
	}
	return branch{rest: []*node{n}}, nil
}

// bounds reports whether a query can apply the condition to a sort key.
func bounds(n *node, attr string) bool {
	is := func(a *node) bool { return a.isAttr() && a.path[0].name == attr }
	switch n.op {
	case opEQ, opLT, opLE, opGT, opGE:
		return is(n.args[0]) && n.args[1].isValue() || is(n.args[1]) && n.args[0].isValue()
	case opBetween:
		return is(n.args[0]) && n.args[1].isValue() && n.args[2].isValue()
	case opCall:
		return n.text == "begins_with" && is(n.args[0]) && n.args[1].isValue()
	}
	return false
}

// read returns the read of a branch. It is bounded by one sort key condition, preferably an
// equality.
func (p *planner) read(b branch) (read, error) {
	r := read{hash: b.hashes[0], filter: b.rest}
	if err := p.checkType(r.hash, p.hash); err != nil {
		return r, err
	}
	at := slices.IndexFunc(b.sorts, func(n *node) bool { return n.op == opEQ })
	for i, n := range b.sorts {
		in, err := p.interval(n)
		if err != nil {
			return r, err
		}
		r.within = r.within.and(in)
		if i == max(at, 0) {
			r.sort = n
		} else {
			r.filter = append(slices.Clone(r.filter), n)
		}
	}
	if p.rng.Name != "" {
		r.vague = slices.ContainsFunc(b.rest, func(n *node) bool { return (n.op == opNot || n.op == opNE) && n.names(p.rng.Name) })
	}
	return r, nil
}

// merge rejects overlapping reads of a partition. But if one of them negates a condition on the
// sort key, it replaces both with one read of the whole partition.
func (p *planner) merge(reads []read) ([]read, error) {
	var out []read
	for _, r := range reads {
		for {
			at := slices.IndexFunc(out, func(o read) bool { return item.Equal(o.hash, r.hash) && o.within.meets(r.within) })
			if at < 0 {
				break
			}
			if !r.vague && !out[at].vague {
				return nil, request.Invalid(overlapping)
			}
			r = either(out[at], r)
			out = slices.Delete(out, at, at+1)
		}
		out = append(out, r)
	}
	return out, nil
}

// either returns a read of the whole partition for the union of two reads.
func either(a, b read) read {
	r := read{hash: a.hash, vague: true}
	if x, y := a.whole(), b.whole(); x != nil && y != nil {
		r.filter = []*node{{op: opOr, at: x.at, args: []*node{x, y}}}
	}
	return r
}

// whole returns all conditions of a read except on the partition, or nil.
func (r *read) whole() *node {
	all := r.filter
	if r.sort != nil {
		all = append([]*node{r.sort}, all...)
	}
	return joined(opAnd, all)
}
