package infra

import (
	"slices"

	"github.com/onefold/onefold/dynamo/dynamojson"
	"github.com/onefold/onefold/table"
)

// Stage is an update of a stack. DynamoDB makes or removes one index in an update, and waits until it is filled; so does
// CloudFormation.
type Stage struct {
	Indexes []string // that the table has behind it
	Adds    string   // the index that it makes, "" for none
	Removes string   // the index that it removes, "" for none
}

// Stages are the updates that lead from the indexes that a table has to those of a schema: first what is new, so that no
// pattern is without its index, then what is no longer asked. None: there is nothing to do.
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

// CreateTable writes the request that creates the table as the API's JSON, for `aws dynamodb create-table --cli-input-json`.
// Time to live has a request of its own. Errors: ErrOptions.
func CreateTable(s *table.Schema, o Options) ([]byte, error) {
	if err := o.complete(s); err != nil {
		return nil, err
	}
	return append(dynamojson.AppendOrdered(nil, o.request(s)), '\n'), nil
}
