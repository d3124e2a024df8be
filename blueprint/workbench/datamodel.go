package workbench

import (
	"encoding/json"
	"io"
	"regexp"
	"strings"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/table"
)

// dataModel is the content of dynamodb_data_model.json. AWS's DynamoDB server for assistants
// validates it with its design tools: they create the tables, put the items and execute every
// pattern.
// https://github.com/awslabs/mcp/tree/main/src/dynamodb-mcp-server
type dataModel struct {
	Tables   []createTable           `json:"tables"`
	Items    map[string][]putRequest `json:"items"`
	Patterns []accessPattern         `json:"access_patterns"`
}

type createTable struct {
	AttributeDefinitions   []attribute
	TableName              string
	KeySchema              []keyElement
	GlobalSecondaryIndexes []secondaryIndex `json:",omitempty"`
	BillingMode            string
}

type keyElement struct{ AttributeName, KeyType string }

type secondaryIndex struct {
	IndexName  string
	KeySchema  []keyElement
	Projection struct{ ProjectionType string }
}

type putRequest struct {
	PutRequest struct{ Item json.RawMessage }
}

type accessPattern struct {
	Pattern        string  `json:"pattern"`
	Description    string  `json:"description"`
	Table          string  `json:"table"`
	Index          *string `json:"index"`
	Operation      string  `json:"dynamodb_operation"`
	Implementation string  `json:"implementation,omitempty"`
	Reason         string  `json:"reason,omitempty"`
}

// DataModel writes the design in the format of AWS's design tools. For each request of an executed
// pattern it contains an entry with an AWS CLI command.
func DataModel(w io.Writer, d *blueprint.Design) error {
	t := createTable{TableName: d.TableName, KeySchema: schemaOf(""), BillingMode: "PAY_PER_REQUEST"}
	t.define(keysOf(""))
	for _, name := range d.Indexes {
		x := secondaryIndex{IndexName: name, KeySchema: schemaOf(name)}
		x.Projection.ProjectionType = "ALL"
		t.GlobalSecondaryIndexes = append(t.GlobalSecondaryIndexes, x)
		t.define(keysOf(name))
	}
	m := dataModel{Tables: []createTable{t}, Items: map[string][]putRequest{}, Patterns: []accessPattern{}}
	for i := range d.Entities {
		for k := range d.Entities[i].Rows {
			var put putRequest
			put.PutRequest.Item = d.Entities[i].Rows[k].JSON()
			m.Items[d.TableName] = append(m.Items[d.TableName], put)
		}
	}
	for i := range d.Patterns {
		m.Patterns = append(m.Patterns, patternOf(d, &d.Patterns[i])...)
	}
	return encode(w, m)
}

func (t *createTable) define(k keys) {
	t.AttributeDefinitions = append(t.AttributeDefinitions, k.PartitionKey, *k.SortKey)
}

func schemaOf(index string) []keyElement {
	k := keysOf(index)
	return []keyElement{{k.PartitionKey.AttributeName, "HASH"}, {k.SortKey.AttributeName, "RANGE"}}
}

func patternOf(d *blueprint.Design, p *blueprint.Pattern) []accessPattern {
	a := accessPattern{Pattern: p.ID, Description: p.Question, Table: d.TableName, Operation: p.Operation}
	if p.Index != "" {
		a.Index = &p.Index
	}
	if p.Execution == nil {
		a.Reason = "not executed while this was written"
		return []accessPattern{a}
	}
	var all []accessPattern
	for i := range p.Execution.Calls {
		c := &p.Execution.Calls[i]
		a.Operation = c.Operation
		a.Implementation = "aws dynamodb " + commandOf(c.Operation) + " --cli-input-json '" + strings.ReplaceAll(string(c.Request), "'", `'\''`) + "'"
		all = append(all, a)
	}
	return all
}

var upper = regexp.MustCompile(`[A-Z]`)

// commandOf returns the AWS CLI command of an operation: transact-write-items for
// TransactWriteItems.
func commandOf(operation string) string {
	return strings.TrimPrefix(upper.ReplaceAllStringFunc(operation, func(l string) string { return "-" + strings.ToLower(l) }), "-")
}

// outline returns the outline of a data model. Entities are identified by the names in their items.
func (m *dataModel) outline() (*blueprint.Outline, error) {
	if len(m.Tables) != 1 {
		return nil, severalTables(len(m.Tables))
	}
	t := &m.Tables[0]
	o := &blueprint.Outline{Name: t.TableName, Partial: true}
	for _, x := range t.GlobalSecondaryIndexes {
		o.Indexes = append(o.Indexes, x.IndexName)
	}
	var items []json.RawMessage
	for _, put := range m.Items[t.TableName] {
		items = append(items, put.PutRequest.Item)
	}
	return o, addFromItems(o, items)
}

// addFromItems adds the entities named in items, with their attributes.
func addFromItems(o *blueprint.Outline, items []json.RawMessage) error {
	at := map[string]int{}
	for _, raw := range items {
		var it map[string]map[string]json.RawMessage
		if err := json.Unmarshal(raw, &it); err != nil {
			return err
		}
		name := o.Name
		if et, ok := it[table.AttrEntity]["S"]; ok {
			if err := json.Unmarshal(et, &name); err != nil {
				return err
			}
		}
		if _, known := at[name]; !known {
			at[name] = len(o.Entities)
			o.Entities = append(o.Entities, blueprint.OutlineEntity{Name: name})
		}
		add(&o.Entities[at[name]], o.Indexes, names(it))
	}
	return nil
}
