// Package athena writes the definitions that Athena and Glue need to query a warehouse in S3. They
// define tables over its folders, with partitions that are computed and never registered. The
// command line uses it.
package athena

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/onefold/onefold/warehouse"
)

// Tables describes the tables to define.
type Tables struct {
	Location string // s3://BUCKET/PREFIX
	Database string
	// Keys are the existing sites, fleets and aggregate types, as they are written in paths. If a
	// dataset has none, its queries must name one: WHERE site = '…'.
	Keys map[warehouse.Dataset][]string
}

// maxKeys is the largest number of values that a computed column may list. It leaves room below the
// size that Glue accepts for a property.
const maxKeys = 1000

var (
	places = regexp.MustCompile(`^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()/=-]*)?$`)
	names  = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,127}$`)
)

func (t *Tables) check() error {
	t.Location = strings.TrimSuffix(t.Location, "/")
	if !places.MatchString(t.Location) {
		return fmt.Errorf("bad_location: %q is not s3://BUCKET/PREFIX; a bucket name has 3 to 63 letters (lower case), digits, dots and hyphens", t.Location)
	}
	if !names.MatchString(t.Database) {
		return fmt.Errorf("bad_database: %q: use lower-case letters, digits and _", t.Database)
	}
	return nil
}

// properties returns the table properties from which Athena computes the partitions.
// https://docs.aws.amazon.com/athena/latest/ug/partition-projection-supported-types.html
func (t *Tables) properties(d warehouse.Dataset) [][2]string {
	key := d.Column()
	all := [][2]string{
		{"projection.enabled", "true"},
		{"projection.date.type", "date"}, {"projection.date.format", "yyyy-MM-dd"}, {"projection.date.range", "2015-01-01,NOW+1DAYS"},
	}
	if keys := t.Keys[d]; len(keys) > 0 && len(keys) <= maxKeys && !slices.ContainsFunc(keys, func(k string) bool { return k == "" || strings.Contains(k, ",") }) {
		all = append(all, [2]string{"projection." + key + ".type", "enum"}, [2]string{"projection." + key + ".values", strings.Join(keys, ",")})
	} else {
		all = append(all, [2]string{"projection." + key + ".type", "injected"})
	}
	return append(all, [2]string{"storage.location.template", fmt.Sprintf("%s/%s=${%s}/date=${date}/", t.folder(d), key, key)})
}

func (t *Tables) folder(d warehouse.Dataset) string { return t.Location + "/" + string(d) }

// SQL returns statements for Athena. Each starts on a new line and ends with a semicolon. Errors
// begin with bad_location or bad_database.
func (t Tables) SQL() (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE DATABASE IF NOT EXISTS `%s`;\n", t.Database)
	for _, d := range warehouse.Datasets() {
		fmt.Fprintf(&b, "\nCREATE EXTERNAL TABLE IF NOT EXISTS `%s`.`%s` (\n", t.Database, d)
		columns := d.Columns()
		for i, c := range columns {
			comma := ","
			if i == len(columns)-1 {
				comma = ""
			}
			fmt.Fprintf(&b, "  `%s` %s%s\n", c.Name, c.Type, comma)
		}
		fmt.Fprintf(&b, ")\nPARTITIONED BY (`%s` string, `date` date)\nSTORED AS PARQUET\nLOCATION '%s/'\nTBLPROPERTIES (\n", d.Column(), quoted(t.folder(d)))
		properties := t.properties(d)
		for i, p := range properties {
			comma := ","
			if i == len(properties)-1 {
				comma = ""
			}
			fmt.Fprintf(&b, "  '%s' = '%s'%s\n", p[0], quoted(p[1]), comma)
		}
		b.WriteString(");\n")
	}
	return b.String(), nil
}

func quoted(s string) string { return strings.ReplaceAll(s, "'", "''") }

type object = map[string]any

// Glue returns a CloudFormation template, in JSON, of a database and its tables in the Glue
// catalog. Errors: as SQL.
func (t Tables) Glue() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	catalog := object{"Ref": "AWS::AccountId"}
	resources := object{"Database": object{
		"Type": "AWS::Glue::Database", "Properties": object{"CatalogId": catalog, "DatabaseInput": object{"Name": t.Database}},
	}}
	logical := map[warehouse.Dataset]string{warehouse.Events: "Events", warehouse.Readings: "Readings", warehouse.DomainEvents: "DomainEvents"}
	for _, d := range warehouse.Datasets() {
		parameters := object{"EXTERNAL": "TRUE", "classification": "parquet"}
		for _, p := range t.properties(d) {
			parameters[p[0]] = p[1]
		}
		var columns []object
		for _, c := range d.Columns() {
			columns = append(columns, object{"Name": c.Name, "Type": c.Type})
		}
		resources[logical[d]] = object{"Type": "AWS::Glue::Table", "DependsOn": "Database", "Properties": object{
			"CatalogId": catalog, "DatabaseName": t.Database,
			"TableInput": object{
				"Name": string(d), "TableType": "EXTERNAL_TABLE", "Parameters": parameters,
				"PartitionKeys": []object{{"Name": d.Column(), "Type": "string"}, {"Name": "date", "Type": "date"}},
				"StorageDescriptor": object{
					"Columns": columns, "Location": t.folder(d) + "/",
					"InputFormat":  "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
					"OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
					"SerdeInfo":    object{"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
				},
			},
		}}
	}
	return json.MarshalIndent(object{
		"AWSTemplateFormatVersion": "2010-09-09", "Description": "The warehouse of onefold in the Glue catalog", "Resources": resources,
	}, "", "  ")
}
