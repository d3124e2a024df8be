package workbench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/diff"
	"github.com/onefold/onefold/blueprint/workbench"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

var schemas = []*table.Schema{analytics.Schema, telemetry.Schema, eventstore.Schema}

func design(t *testing.T, s *table.Schema) *blueprint.Design {
	t.Helper()
	db, err := engine.OpenMemory(engine.Options{Clock: func() time.Time { return blueprint.Epoch }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	d, err := blueprint.New(t.Context(), s, blueprint.Options{Store: db})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// shape lists the members of objects in models that NoSQL Workbench 3 exported itself. In a path, *
// stands for any element.
var shape = map[string]string{
	"":                                "ModelName ModelMetadata DataModel",
	".ModelMetadata":                  "Author DateCreated DateLastModified Description AWSService Version",
	".DataModel.*":                    "TableName KeyAttributes NonKeyAttributes TableFacets GlobalSecondaryIndexes DataAccess BillingMode",
	".DataModel.*.KeyAttributes":      "PartitionKey SortKey",
	".DataModel.*.NonKeyAttributes.*": "AttributeName AttributeType",
	".DataModel.*.TableFacets.*":      "FacetName KeyAttributeAlias TableData NonKeyAttributes DataAccess",
	".DataModel.*.TableFacets.*.KeyAttributeAlias":                     "PartitionKeyAlias SortKeyAlias",
	".DataModel.*.GlobalSecondaryIndexes.*":                            "IndexName KeyAttributes Projection",
	".DataModel.*.GlobalSecondaryIndexes.*.KeyAttributes":              "PartitionKey SortKey",
	".DataModel.*.GlobalSecondaryIndexes.*.KeyAttributes.PartitionKey": "AttributeName AttributeType",
	".DataModel.*.GlobalSecondaryIndexes.*.Projection":                 "ProjectionType",
	".DataModel.*.DataAccess":                                          "MySql",
}

func TestModelHasTheShapeOfExports(t *testing.T) {
	for _, s := range []*table.Schema{analytics.Schema, telemetry.Schema} { // with an index, as the exports
		var b bytes.Buffer
		if err := workbench.Write(&b, design(t, s)); err != nil {
			t.Fatal(err)
		}
		var model any
		if err := json.Unmarshal(b.Bytes(), &model); err != nil {
			t.Fatal(err)
		}
		met := map[string]bool{}
		walk("", model, func(path string, members []string) {
			if want, ok := shape[path]; ok {
				met[path] = true
				wanted := strings.Fields(want)
				slices.Sort(wanted)
				if !slices.Equal(members, wanted) {
					t.Errorf("%s: %s has %q, exports have %q", s.Name(), path, members, wanted)
				}
			}
		})
		if len(met) != len(shape) {
			t.Errorf("%s: only %d of %d kinds of objects are there", s.Name(), len(met), len(shape))
		}
	}
}

func walk(path string, v any, saw func(path string, members []string)) {
	switch v := v.(type) {
	case map[string]any:
		saw(path, slices.Sorted(maps.Keys(v)))
		for name, member := range v {
			walk(path+"."+name, member, saw)
		}
	case []any:
		for _, e := range v {
			walk(path+".*", e, saw)
		}
	}
}

// TestModelDeclaresWhatItemsHave checks that every attribute of an item is declared, with the type
// that it has in the item.
func TestModelDeclaresWhatItemsHave(t *testing.T) {
	for _, s := range schemas {
		var b bytes.Buffer
		if err := workbench.Write(&b, design(t, s)); err != nil {
			t.Fatal(err)
		}
		var model struct {
			DataModel []struct {
				NonKeyAttributes []struct{ AttributeName, AttributeType string }
				TableFacets      []struct {
					FacetName        string
					NonKeyAttributes []string
					TableData        []map[string]map[string]any
				}
			}
		}
		if err := json.Unmarshal(b.Bytes(), &model); err != nil {
			t.Fatal(err)
		}
		declared := map[string]bool{}
		for _, a := range model.DataModel[0].NonKeyAttributes {
			declared[a.AttributeName] = true
		}
		for _, f := range model.DataModel[0].TableFacets {
			if len(f.TableData) == 0 {
				t.Errorf("%s has no rows", f.FacetName)
			}
			for _, row := range f.TableData {
				for name := range row {
					if name != "pk" && name != "sk" && (!declared[name] || !slices.Contains(f.NonKeyAttributes, name)) {
						t.Errorf("%s: %s is not declared", f.FacetName, name)
					}
				}
			}
		}
	}
}

// TestReadWhatWasWritten checks that a design that is written and read again is the same, as far as
// the format can represent it.
func TestReadWhatWasWritten(t *testing.T) {
	for _, s := range schemas {
		for form, write := range map[string]func(*bytes.Buffer, *blueprint.Design) error{
			"workbench": func(b *bytes.Buffer, d *blueprint.Design) error { return workbench.Write(b, d) },
			"datamodel": func(b *bytes.Buffer, d *blueprint.Design) error { return workbench.DataModel(b, d) },
		} {
			var b bytes.Buffer
			if err := write(&b, design(t, s)); err != nil {
				t.Fatal(err)
			}
			o, err := workbench.Read(&b)
			if err != nil {
				t.Fatal(err)
			}
			found := diff.Compare(o, blueprint.OutlineOf(s))
			if form == "workbench" && len(found) > 0 {
				t.Errorf("%s: %+v", s.Name(), found)
			}
			if worst := diff.Worst(found); worst == diff.Breaks || worst == diff.NeedsIndex {
				t.Errorf("%s as %s: %+v", s.Name(), form, found)
			}
		}
	}
}

// TestDataModelRuns checks that the data model creates its tables, accepts its items, and has every
// pattern as a command.
func TestDataModelRuns(t *testing.T) {
	d := design(t, telemetry.Schema)
	var b bytes.Buffer
	if err := workbench.DataModel(&b, d); err != nil {
		t.Fatal(err)
	}
	var m struct {
		Tables []dynamodb.CreateTableInput `json:"tables"`
		Items  map[string][]struct {
			PutRequest struct{ Item map[string]any }
		} `json:"items"`
		Patterns []struct {
			Pattern, Implementation string
		} `json:"access_patterns"`
	}
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	out, err := db.CreateTable(t.Context(), &m.Tables[0])
	if err != nil || len(out.TableDescription.GlobalSecondaryIndexes) != 1 {
		t.Fatalf("%+v, error %v", out, err)
	}
	if n := len(m.Items["telemetry"]); n < len(d.Entities) {
		t.Errorf("%d items of %d entities", n, len(d.Entities))
	}
	said := map[string]string{}
	for _, p := range m.Patterns {
		said[p.Pattern] += p.Implementation
	}
	for _, p := range d.Patterns {
		if !strings.HasPrefix(said[p.ID], "aws dynamodb ") {
			t.Errorf("pattern %s: %q", p.ID, said[p.ID])
		}
	}
}

func TestSamples(t *testing.T) {
	d := design(t, telemetry.Schema)
	var b bytes.Buffer
	if err := workbench.Samples(&b, d); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		var row struct{ Item map[string]map[string]any }
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.Item["pk"]["S"] == nil || row.Item["et"]["S"] == nil {
			t.Errorf("line %d: %.200s: error %v", i+1, line, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, bad := range []string{
		"", "[]", "{}", `{"DataModel": []}`, `{"DataModel": [{}, {}]}`, `{"DataModel": 3}`, `{"tables": [{}, {}]}`, `{"tables": [{}], "items": 3}`,
		`{"DataModel": [{"TableName": "t", "TableFacets": [{}]}]}`, `{"DataModel": [{"TableName": "t", "TableData": [3]}]}`,
		`{"tables": [{"TableName": "t"}], "items": {"t": [{"PutRequest": {"Item": {"et": {"S": 3}}}}]}}`,
	} {
		if o, err := workbench.Read(strings.NewReader(bad)); !errors.Is(err, workbench.ErrModel) {
			t.Errorf("%s: %+v, error %v", bad, o, err)
		}
	}
	o, err := workbench.Read(strings.NewReader(`{"DataModel": [{"TableName": "Shop", "KeyAttributes": {"PartitionKey": {"AttributeName": "PK"}},
		"TableFacets": [{"FacetName": "customer", "KeyAttributeAlias": {"PartitionKeyAlias": "PK", "SortKeyAlias": "SK"}, "NonKeyAttributes": ["Email"]}]}]}`))
	if err != nil || len(o.Entities) != 1 || o.Entities[0].PK != "" || fmt.Sprint(o.Entities[0].Attributes) != "[{Email  true}]" {
		t.Errorf("somebody else's model: %+v, error %v", o, err)
	}
}
