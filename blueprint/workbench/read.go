package workbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/table"
)

// ErrModel is returned for input that is neither a model of NoSQL Workbench nor a data model of
// AWS, or does not have exactly one table.
var ErrModel = errors.New("workbench: not a model of one table")

// maxModel is the maximum input size in bytes.
const maxModel = 64 << 20

// Read parses the outline of a design from a model of NoSQL Workbench or a data model of AWS. The
// outline is partial: fields that these formats do not contain are empty. Errors: ErrModel.
func Read(r io.Reader) (*blueprint.Outline, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxModel))
	if err != nil {
		return nil, err
	}
	var either struct {
		DataModel []tableModel  `json:"DataModel"`
		Tables    []createTable `json:"tables"`
	}
	if err := json.Unmarshal(b, &either); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	var o *blueprint.Outline
	switch {
	case len(either.DataModel) == 1:
		o, err = either.DataModel[0].outline()
	case len(either.Tables) > 0:
		var m dataModel
		if err = json.Unmarshal(b, &m); err == nil {
			o, err = m.outline()
		}
	default:
		return nil, severalTables(len(either.DataModel))
	}
	if err != nil && !errors.Is(err, ErrModel) {
		err = fmt.Errorf("%w: %w", ErrModel, err)
	}
	return o, err
}

func severalTables(n int) error {
	return fmt.Errorf("%w: it has %d tables", ErrModel, n)
}

// outline returns the outline of a model. Facets are entities; without facets, entities are
// identified by the items.
func (t *tableModel) outline() (*blueprint.Outline, error) {
	o := &blueprint.Outline{Name: t.TableName, Partial: true}
	for _, x := range t.GlobalSecondaryIndexes {
		o.Indexes = append(o.Indexes, x.IndexName)
	}
	for i := range t.TableFacets {
		f := &t.TableFacets[i]
		if f.FacetName == "" {
			return nil, fmt.Errorf("%w: facet %d has no name", ErrModel, i+1)
		}
		e := blueprint.OutlineEntity{Name: f.FacetName}
		if a := f.KeyAttributeAlias; looksLike(a.PartitionKeyAlias) || looksLike(a.SortKeyAlias) {
			e.PK, e.SK = a.PartitionKeyAlias, a.SortKeyAlias
		}
		add(&e, o.Indexes, f.NonKeyAttributes)
		o.Entities = append(o.Entities, e)
	}
	return o, addFromItems(o, t.TableData)
}

// add adds attributes to an entity. Index key attributes mean that it is in the index, ttl that it
// expires.
func add(e *blueprint.OutlineEntity, indexes, names []string) {
	for _, name := range names {
		x := strings.TrimSuffix(name, "pk")
		switch {
		case name == table.AttrPK || name == table.AttrSK || name == table.AttrEntity:
		case name == table.AttrTTL:
			e.Expires = true
		case x != name && slices.Contains(indexes, x):
			if !slices.ContainsFunc(e.Indexes, func(have table.IndexInfo) bool { return have.Name == x }) {
				e.Indexes = append(e.Indexes, table.IndexInfo{Name: x})
			}
		case slices.Contains(indexes, strings.TrimSuffix(name, "sk")):
		case !slices.ContainsFunc(e.Attributes, func(have table.AttributeInfo) bool { return have.Name == name }):
			e.Attributes = append(e.Attributes, table.AttributeInfo{Name: name, Optional: true})
		}
	}
}

func names(it map[string]map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(it)) }
