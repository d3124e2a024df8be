package partiql

import (
	"bytes"
	"crypto/md5"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// selection is a SELECT matched with its table.
type selection struct {
	*statement
	lits    *values
	table   *catalog.Table
	index   *catalog.Index // nil for the table
	hash    catalog.Key
	rng     catalog.Key
	reads   []read
	forward *bool
}

// selection finds the index of a SELECT and the reads that answer it.
func (v *values) selection(s *statement, t *catalog.Table, consistent bool) (*selection, error) {
	sel := &selection{statement: s, lits: v, table: t, hash: t.Hash, rng: t.Range}
	if s.indexed {
		if err := sel.findIndex(consistent); err != nil {
			return nil, err
		}
	}
	p := &planner{lits: v, hash: sel.hash, rng: sel.rng}
	reads, keyed, err := p.plan(s.where)
	if err != nil {
		return nil, err
	}
	sel.reads = reads
	if err := sel.arrange(keyed); err != nil {
		return nil, err
	}
	if keyed {
		return sel, sel.checkFilter()
	}
	return sel, nil
}

func (s *selection) findIndex(consistent bool) error {
	at := slices.IndexFunc(s.table.Indexes, func(x catalog.Index) bool { return x.Name == s.statement.index })
	if at < 0 {
		return request.Invalid("The table does not have the specified index")
	}
	x := &s.table.Indexes[at]
	switch {
	case len(x.Hash) != 1 || len(x.Range) > 1:
		return request.Invalid("Statements on an index whose key has more than one partition or sort key attribute are not supported")
	case consistent && !x.Local:
		return request.Invalid("Strongly consistent read is not supported on Global Secondary Indexes")
	}
	s.index, s.hash, s.rng = x, x.Hash[0], catalog.Key{}
	if len(x.Range) > 0 {
		s.rng = x.Range[0]
	}
	if !x.Local {
		if missing := s.unprojected(s.roots()); len(missing) > 0 {
			return request.Invalid("One or more parameter values were invalid: Global secondary index %s does not project [%s]", x.Name, strings.Join(missing, ", "))
		}
	}
	return nil
}

// roots returns the distinct top-level attributes of the projection.
func (s *selection) roots() []string {
	var list []string
	for _, c := range s.columns {
		if !slices.Contains(list, c.path[0].name) {
			list = append(list, c.path[0].name)
		}
	}
	return list
}

// unprojected returns the attributes that the index does not contain.
func (s *selection) unprojected(attrs []string) []string {
	if s.index == nil || s.index.Projection == types.ProjectionTypeAll {
		return nil
	}
	held := append([]string{s.table.Hash.Name, s.table.Range.Name, s.hash.Name, s.rng.Name}, s.index.Include...)
	return slices.DeleteFunc(slices.Clone(attrs), func(a string) bool { return slices.Contains(held, a) })
}

// checkFilter rejects a read of an index partition with a filter on attributes that the index does
// not contain. A scan matches nothing instead.
func (s *selection) checkFilter() error {
	var attrs []string
	for _, n := range s.reads[0].filter {
		attrs = n.attrs(attrs)
	}
	if missing := s.unprojected(attrs); len(missing) > 0 {
		return request.Invalid("One or more parameter values were invalid: Secondary index %s does not project one or more filter attributes: [%s]",
			s.index.Name, strings.Join(missing, ", "))
	}
	return nil
}

// arrange sorts the reads: by ORDER BY, or by a hash of the partition keys. An ORDER BY that does
// not name the sort key reverses its order if descending, regardless of the partition key.
func (s *selection) arrange(keyed bool) error {
	descending, down := false, false
	byHash := func(a, b read) int { return bytes.Compare(partitionHash(a.hash), partitionHash(b.hash)) }
	if len(s.order) > 0 {
		if err := s.checkOrder(keyed); err != nil {
			return err
		}
		down = true
		for _, o := range s.order {
			if o.attr == s.hash.Name {
				descending = o.desc
				byHash = func(a, b read) int {
					order, _ := item.Compare(a.hash, b.hash)
					return directed(order, descending)
				}
			} else {
				down = o.desc
			}
		}
	}
	s.forward = new(bool)
	*s.forward = !down
	if !keyed {
		return nil
	}
	slices.SortStableFunc(s.reads, func(a, b read) int {
		if order := byHash(a, b); order != 0 {
			return order
		}
		return directed(compareReads(a, b), down)
	})
	return nil
}

func (s *selection) checkOrder(keyed bool) error {
	if s.where == nil {
		return request.Invalid("Must have WHERE clause in the statement when using ORDER BY clause.")
	}
	ordered := false
	for _, o := range s.order {
		if o.attr != s.hash.Name && (o.attr != s.rng.Name || s.rng.Name == "") {
			return request.Invalid("Attribute %s in ORDER BY clause must be part of the primary key", o.attr)
		}
		ordered = ordered || o.attr == s.hash.Name
	}
	if !keyed {
		return request.Invalid("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
	}
	several := slices.ContainsFunc(s.reads, func(r read) bool { return !item.Equal(r.hash, s.reads[0].hash) })
	if several && !ordered {
		return request.Invalid("Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.")
	}
	return nil
}

// directed reverses an order if descending.
func directed(order int, descending bool) int {
	if descending {
		return -order
	}
	return order
}

// compareReads orders two disjoint reads of one partition by their start.
func compareReads(a, b read) int {
	x, y := a.within, b.within
	switch {
	case x.lo == nil && y.lo == nil:
		return 0
	case x.lo == nil:
		return -1
	case y.lo == nil, above(x.lo, x.openLo, y.lo, y.openLo):
		return 1
	case above(y.lo, y.openLo, x.lo, x.openLo):
		return -1
	}
	return 0
}

// partitionHash determines the order of partitions in DynamoDB's responses, as far as recordings
// show it.
func partitionHash(av types.AttributeValue) []byte {
	sum := [md5.Size]byte{}
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		sum = md5.Sum([]byte(v.Value))
	case *types.AttributeValueMemberN:
		sum = md5.Sum([]byte(v.Value))
	case *types.AttributeValueMemberB:
		sum = md5.Sum(v.Value)
	}
	return sum[:]
}

// query returns the request for a read of one partition.
func (s *selection) query(r read) (*dynamodb.QueryInput, error) {
	w := s.lits.writer()
	keys := w.name(s.hash.Name) + "=" + w.value(r.hash)
	if r.sort != nil {
		f, err := w.condition(r.sort)
		if err != nil {
			return nil, err
		}
		keys += " AND " + f.text
	}
	filter, err := w.filter(r.filter)
	if err != nil {
		return nil, err
	}
	in := &dynamodb.QueryInput{TableName: &s.table.Name, KeyConditionExpression: &keys, FilterExpression: filter,
		ProjectionExpression: s.projection(w), ScanIndexForward: s.forward}
	if s.index != nil {
		in.IndexName = &s.index.Name
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = w.bindings()
	return in, nil
}

// scan returns the request for a scan.
func (s *selection) scan(r read) (*dynamodb.ScanInput, error) {
	w := s.lits.writer()
	filter, err := w.filter(r.filter)
	if err != nil {
		return nil, err
	}
	in := &dynamodb.ScanInput{TableName: &s.table.Name, FilterExpression: filter, ProjectionExpression: s.projection(w)}
	if s.index != nil {
		in.IndexName = &s.index.Name
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = w.bindings()
	return in, nil
}

// filter writes the conjunction of conditions, or nil for none.
func (w *writer) filter(ns []*node) (*string, error) {
	if len(ns) == 0 {
		return nil, nil
	}
	fs, err := w.conditions(ns)
	if err != nil {
		return nil, err
	}
	text := conjunction(fs...).text
	return &text, nil
}

// projection writes the attributes to read, or nil for all.
func (s *selection) projection(w *writer) *string {
	if len(s.columns) == 0 {
		return nil
	}
	var list []string
	for _, attr := range s.roots() {
		list = append(list, w.name(attr))
	}
	text := strings.Join(list, ",")
	return &text
}

// project returns the columns of an item: flat, each under its own name.
func project(it item.Item, columns []column) item.Item {
	if it == nil || len(columns) == 0 {
		return it
	}
	out := make(item.Item, len(columns))
	for _, c := range columns {
		if av := lookup(it, c.path); av != nil {
			out[c.name] = av
		}
	}
	return out
}

func lookup(it item.Item, path []step) types.AttributeValue {
	av := it[path[0].name]
	for _, st := range path[1:] {
		switch v := av.(type) {
		case *types.AttributeValueMemberM:
			av = nil
			if st.index < 0 {
				av = v.Value[st.name]
			}
		case *types.AttributeValueMemberL:
			av = nil
			if st.index >= 0 && st.index < len(v.Value) {
				av = v.Value[st.index]
			}
		default:
			return nil
		}
	}
	return av
}
