package infra

import (
	"slices"

	"github.com/onefold/onefold/dynamo/dynamojson"
	"github.com/onefold/onefold/table"
)

// Stage is one update of a stack. DynamoDB, and therefore CloudFormation, creates or deletes one
// index per update, and waits until it is filled.
type Stage struct {
	Indexes []string // the table's indexes after it
	Adds    string   // the index it creates; "" for none
	Removes string   // the index it deletes; "" for none
}

// Stages returns the updates from a table's indexes to those of a schema: first new indexes, so
// that patterns have their index, then deletions. The result is empty if there is nothing to do.
func Stages(s *table.Schema, have []string) []Stage {
	now := slices.Sorted(slices.Values(have))
	var all []Stage
	for _, name := range s.Indexes() {
		if !slices.Contains(now, name) {
			now = append(slices.Clone(now), name)
			slices.Sort(now)
			all = append(all, Stage{Indexes: now, Adds: name})
		}
	}
	for _, name := range slices.Sorted(slices.Values(have)) {
		if !slices.Contains(s.Indexes(), name) {
			now = slices.DeleteFunc(slices.Clone(now), func(n string) bool { return n == name })
			all = append(all, Stage{Indexes: now, Removes: name})
		}
	}
	return all
}

// CreateTable returns the request that creates the table as the API's JSON, for `aws dynamodb
// create-table --cli-input-json`. Time to live needs a separate request. Errors: ErrOptions.
func CreateTable(s *table.Schema, o Options) ([]byte, error) {
	if err := o.complete(s); err != nil {
		return nil, err
	}
	return append(dynamojson.AppendOrdered(nil, o.request(s)), '\n'), nil
}
