package layout

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/keyenc"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
)

// Target returns the index that a Query or Scan reads, nil for the table, and makes the checks that
// depend on it. whole reports that items must be fetched from the table for attributes that a local
// index does not project.
func (t *Table) Target(q *request.Read) (x *Index, whole bool, err error) {
	if q.Index != nil {
		if x = t.Find(*q.Index); x == nil {
			return nil, false, request.Invalid("The table does not have the specified index: %s", *q.Index)
		}
		if x.Desc.Building {
			return nil, false, request.Invalid("Cannot read from backfilling global secondary index: %s", *q.Index)
		}
		if request.IsTrue(q.Consistent) && !x.Desc.Local {
			return nil, false, request.Invalid("Consistent reads are not supported on global secondary indexes")
		}
		if whole, err = x.checkProjected(q); err != nil {
			return nil, false, err
		}
	}
	if q.Projected != nil {
		if err := t.Desc.CheckScalars(q.Projected.NestedRoots()); err != nil {
			return nil, false, err
		}
	}
	return x, whole, t.checkFilter(q, x)
}

// checkProjected reports whether an index can answer a read: a global index contains only projected
// attributes, whereas for a local one the table's items can be fetched.
func (x *Index) checkProjected(q *request.Read) (whole bool, err error) {
	if x.Project == nil {
		return false, nil
	}
	var missing []string
	if q.Projected != nil {
		for _, name := range q.Projected.Roots() {
			if !x.Project[name] {
				missing = append(missing, name)
			}
		}
	}
	all := q.Select == types.SelectAllAttributes
	if x.Desc.Local {
		return all || len(missing) > 0, nil
	}
	if all {
		return false, request.Invalid("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", x.Desc.Name)
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return false, request.Invalid("One or more parameter values were invalid: Global secondary index %s does not project [%s]", x.Desc.Name, strings.Join(missing, ", "))
	}
	return false, nil
}

// checkFilter rejects a query's filter on key attributes, which belong in the key condition.
func (t *Table) checkFilter(q *request.Read, x *Index) error {
	if q.Filtered == nil {
		return nil
	}
	if err := t.Desc.CheckScalars(q.Filtered.NestedNames()); err != nil || q.Verb != "Query" || q.KeysInFilter {
		return err
	}
	hash, rng := t.keys(x)
	for _, name := range q.Filtered.Names() {
		if !hash.Has(name) && !rng.Has(name) {
			continue
		}
		what := "Filter Expression"
		if q.LegacyFilter != nil {
			what = "QueryFilter"
		}
		return request.Invalid("%s can only contain non-primary key attributes: Primary key attribute: %s", what, name)
	}
	return nil
}

// keys returns the keys of the index, or of the table if x is nil.
func (t *Table) keys(x *Index) (hash, rng catalog.Keys) {
	if x != nil {
		return x.Hash, x.Range
	}
	if t.Range.Name != "" {
		rng = catalog.Keys{t.Range}
	}
	return catalog.Keys{t.Hash}, rng
}

// prefix returns a copy of the prefix of all rows of the index, or of the table if x is nil.
func (t *Table) prefix(x *Index) []byte {
	if x != nil {
		return slices.Clone(x.Prefix)
	}
	return row.AppendItemPrefix(nil, t.Desc.ID)
}

// Range is the range of rows that a read covers.
type Range struct {
	Lower []byte // first row
	Upper []byte // end of the rows
	After []byte // row after which to start; nil: from the beginning
}

// Query returns the rows of one partition described by a Query's key condition.
func (t *Table) Query(q *request.Read, x *Index) (r Range, err error) {
	hash, rng := t.keys(x)
	values, tests, err := q.Keys.Resolve(names(hash), names(rng))
	if err != nil {
		return r, err
	}
	for i, v := range values {
		if err := checkOperand(v, hash[i], true); err != nil {
			return r, err
		}
	}
	prefix, err := appendPartition(t.prefix(x), values...)
	if err != nil {
		return r, err
	}
	r.Lower, r.Upper = prefix, row.UpperBound(prefix)
	partition := prefix
	for i, test := range tests {
		if err := r.narrow(partition, test, rng[i]); err != nil {
			return r, err
		}
		partition = r.Lower
	}
	return r, t.startQuery(&r, q, x, prefix, len(tests) > 0)
}

func names(keys catalog.Keys) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.Name
	}
	return list
}

// checkOperand validates a value that a key is compared with.
func checkOperand(v types.AttributeValue, a catalog.Key, hash bool) error {
	size, ok := catalog.KeySize(v, a.Type)
	if !ok {
		return request.Invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
	}
	if size == 0 && hash {
		return request.Invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", catalog.KindWord(a.Type), a.Name)
	}
	return catalog.CheckKeySize(size, hash)
}

// narrow narrows the range, whose rows begin with prefix, by a condition on the next sort
// attribute.
func (r *Range) narrow(prefix []byte, test *expr.SortCondition, a catalog.Key) error {
	for _, v := range []types.AttributeValue{test.Lo, test.Hi} {
		if v == nil {
			continue
		}
		if err := checkOperand(v, a, false); err != nil {
			return err
		}
	}
	encode := keyenc.Append
	if test.Op == expr.BEGINSWITH {
		encode = keyenc.AppendPrefix
	}
	lo, err := encode(slices.Clone(prefix), test.Lo)
	if err != nil {
		return err
	}
	switch test.Op {
	case expr.EQ, expr.BEGINSWITH:
		r.Lower, r.Upper = lo, row.UpperBound(lo)
	case expr.LT:
		r.Upper = lo
	case expr.LE:
		r.Upper = row.UpperBound(lo)
	case expr.GT:
		r.Lower = row.UpperBound(lo)
	case expr.GE:
		r.Lower = lo
	case expr.BETWEEN:
		hi, err := keyenc.Append(slices.Clone(prefix), test.Hi)
		if err != nil {
			return err
		}
		r.Lower, r.Upper = lo, row.UpperBound(hi)
	}
	return nil
}

// startQuery sets the start of the page from the request's ExclusiveStartKey, whose item need not
// exist.
func (t *Table) startQuery(r *Range, q *request.Read, x *Index, partition []byte, narrowed bool) error {
	if q.Start == nil {
		return nil
	}
	key, err := t.startRow(x, q.Start, "The provided starting key is invalid")
	if err != nil {
		return err
	}
	if len(key) < len(partition) || string(key[:len(partition)]) != string(partition) {
		if narrowed {
			return request.Invalid("The query can return at most one row and cannot be restarted")
		}
		return request.Invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	if string(key) < string(r.Lower) || r.Upper != nil && string(key) >= string(r.Upper) {
		return request.Invalid("The provided starting key does not match the range key predicate")
	}
	r.After = key
	return nil
}

// startRow returns the row key for an ExclusiveStartKey.
func (t *Table) startRow(x *Index, start item.Item, invalid string) ([]byte, error) {
	start, err := request.Normalize(start)
	if err != nil {
		return nil, err
	}
	attrs := t.KeyAttrs(x)
	if len(start) != len(attrs) {
		return nil, request.Invalid("%s", invalid)
	}
	for _, a := range attrs {
		size, ok := catalog.KeySize(start[a.Name], a.Type)
		if !ok {
			if start[a.Name] == nil {
				return nil, request.Invalid("%s", invalid)
			}
			return nil, request.Invalid("The provided starting key is invalid: %s", catalog.WrongKey)
		}
		if size == 0 {
			return nil, request.Invalid("The provided starting key is invalid: One or more parameter values are not valid. "+
				"The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", catalog.KindWord(a.Type), a.Name)
		}
	}
	if x == nil {
		return t.AppendItemKey(nil, start)
	}
	primary, err := t.AppendPrimary(nil, start)
	if err != nil {
		return nil, err
	}
	return x.AppendRow(nil, start, primary)
}

// Scan returns the rows of the table or index, or of one of its segments.
func (t *Table) Scan(q *request.Read, x *Index, segment, total *int32) (r Range, err error) {
	prefix := t.prefix(x)
	r.Lower, r.Upper = prefix, row.UpperBound(prefix)
	if segment != nil {
		const hashes = uint64(1) << 32
		from, to := hashes*uint64(*segment)/uint64(*total), hashes*uint64(*segment+1)/uint64(*total)
		r.Lower = binary.BigEndian.AppendUint32(slices.Clone(prefix), uint32(from))
		if to < hashes {
			r.Upper = binary.BigEndian.AppendUint32(slices.Clone(prefix), uint32(to))
		}
	}
	if q.Start == nil {
		return r, nil
	}
	key, err := t.startRow(x, q.Start, "The provided starting key is invalid: "+catalog.WrongKey)
	if err != nil {
		return r, err
	}
	if string(key) < string(r.Lower) || string(key) >= string(r.Upper) {
		return r, request.Invalid("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d", *total, *segment)
	}
	r.After = key
	return r, nil
}
