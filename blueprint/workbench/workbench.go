// Package workbench converts designs to and from the formats of other tools: models of NoSQL
// Workbench, DynamoDB JSON of the example rows, and the data model of AWS's design tools.
package workbench

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/table"
)

// model is a file of NoSQL Workbench, version 3.0.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/workbench.Modeler.ExportModel.html
type model struct {
	ModelName     string
	ModelMetadata metadata
	DataModel     []tableModel
}

type metadata struct {
	Author, DateCreated, DateLastModified, Description, AWSService, Version string
}

type tableModel struct {
	TableName              string
	KeyAttributes          keys
	NonKeyAttributes       []attribute       `json:",omitempty"`
	TableFacets            []facet           `json:",omitempty"`
	GlobalSecondaryIndexes []index           `json:",omitempty"`
	TableData              []json.RawMessage `json:",omitempty"` // for models without facets
	DataAccess             access
	BillingMode            string `json:",omitempty"`
}

type keys struct {
	PartitionKey attribute
	SortKey      *attribute `json:",omitempty"`
}

type attribute struct{ AttributeName, AttributeType string }

// facet is a type of item. The aliases of its keys are their templates.
type facet struct {
	FacetName         string
	KeyAttributeAlias struct{ PartitionKeyAlias, SortKeyAlias string }
	TableData         []json.RawMessage
	NonKeyAttributes  []string
	DataAccess        access
}

type index struct {
	IndexName     string
	KeyAttributes keys
	Projection    struct{ ProjectionType string }
}

type access struct {
	MySQL struct{} `json:"MySql"`
}

// madeAt is the fixed date of every model, so that the same design results in the same bytes.
const madeAt = "May 12, 2026, 02:00 PM"

// Write writes a model that NoSQL Workbench can import: the table with its indexes, and a facet
// with example rows per entity.
func Write(w io.Writer, d *blueprint.Design) error {
	t := tableModel{TableName: d.TableName, KeyAttributes: keysOf(""), BillingMode: "PAY_PER_REQUEST"}
	types := typesOf(d)
	for _, name := range types.names {
		t.NonKeyAttributes = append(t.NonKeyAttributes, attribute{name, types.of[name]})
	}
	for i := range d.Entities {
		t.TableFacets = append(t.TableFacets, facetOf(&d.Entities[i]))
	}
	for _, name := range d.Indexes {
		x := index{IndexName: name, KeyAttributes: keysOf(name)}
		x.Projection.ProjectionType = "ALL"
		t.GlobalSecondaryIndexes = append(t.GlobalSecondaryIndexes, x)
	}
	return encode(w, model{
		ModelName: d.Name,
		ModelMetadata: metadata{
			Author: "onefold", DateCreated: madeAt, DateLastModified: madeAt,
			Description: "Generated from the running schema by onefold design.", AWSService: "Amazon DynamoDB", Version: "3.0",
		},
		DataModel: []tableModel{t},
	})
}

func encode(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// keysOf returns the key attributes of the table or an index.
func keysOf(index string) keys {
	pk, sk := table.AttrPK, table.AttrSK
	if index != "" {
		pk, sk = index+"pk", index+"sk"
	}
	return keys{PartitionKey: attribute{pk, "S"}, SortKey: &attribute{sk, "S"}}
}

func facetOf(e *blueprint.Entity) facet {
	f := facet{FacetName: e.Name, TableData: []json.RawMessage{}, NonKeyAttributes: attributesOf(e)}
	f.KeyAttributeAlias.PartitionKeyAlias, f.KeyAttributeAlias.SortKeyAlias = e.PK, e.SK
	for i := range e.Rows {
		f.TableData = append(f.TableData, e.Rows[i].JSON())
	}
	return f
}

// attributesOf returns the attributes of an entity's items besides the table's key.
func attributesOf(e *blueprint.Entity) []string {
	names := []string{table.AttrEntity}
	for _, x := range e.Indexes {
		names = append(names, x.Name+"pk", x.Name+"sk")
	}
	if e.Expires {
		names = append(names, table.AttrTTL)
	}
	for _, a := range e.Attributes {
		if !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// attributeTypes are the types of all attributes, in the order of first use.
type attributeTypes struct {
	names []string
	of    map[string]string
}

// typesOf determines types from the stored rows or, if missing there, from the fields.
func typesOf(d *blueprint.Design) attributeTypes {
	stored := map[string]string{}
	for i := range d.Entities {
		for _, r := range d.Entities[i].Rows {
			for name, av := range r.Item {
				if stored[name] == "" || stored[name] == "NULL" {
					stored[name] = blueprint.TypeLetter(av)
				}
			}
		}
	}
	all := attributeTypes{of: map[string]string{}}
	for i := range d.Entities {
		e := &d.Entities[i]
		for _, name := range attributesOf(e) {
			if all.of[name] != "" {
				continue
			}
			all.names, all.of[name] = append(all.names, name), "S"
			k := slices.IndexFunc(e.Attributes, func(a table.AttributeInfo) bool { return a.Name == name })
			switch {
			case stored[name] != "" && stored[name] != "NULL":
				all.of[name] = stored[name]
			case k >= 0:
				all.of[name] = letters[blueprint.TypeWord(e.Attributes[k].Type)]
			}
		}
	}
	return all
}

var letters = map[string]string{"string": "S", "time": "S", "number": "N", "binary": "B", "bool": "BOOL", "list": "L", "map": "M"}

// Samples writes the example rows as DynamoDB JSON, one item per line, as in table exports and
// imports.
func Samples(w io.Writer, d *blueprint.Design) error {
	var b bytes.Buffer
	for i := range d.Entities {
		for k := range d.Entities[i].Rows {
			b.WriteString(`{"Item":`)
			b.Write(d.Entities[i].Rows[k].JSON())
			b.WriteString("}\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// looksLike reports whether an alias is a template, and not just a name given to a key attribute.
func looksLike(alias string) bool { return strings.ContainsAny(alias, "{#") }
