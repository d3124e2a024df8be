package blueprint_test

import (
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/dynamo/dynamotest"
)

// TestPatternsOnDynalite checks that every pattern of every schema finds the same items on
// Dynalite, an independent implementation of DynamoDB. It leaves out the patterns that need
// transactions, which Dynalite does not have.
func TestPatternsOnDynalite(t *testing.T) {
	transactions := []string{"E1", "L4", "L5", "O9", "O10"} // and the patterns that read what those wrote
	failed := regexp.MustCompile(`pattern (\w+): `)
	api := dynamotest.Dynalite(t)
	for _, s := range schemas() {
		d, err := blueprint.New(t.Context(), s, blueprint.Options{Store: api})
		if err != nil {
			for _, f := range failed.FindAllStringSubmatch(err.Error(), -1) {
				if !slices.Contains(transactions, f[1]) && f[1] != "L2" { // L5 reads with L2
					t.Errorf("%s: %v", s.Name(), err)
				}
			}
			continue
		}
		want := design(t, s)
		for i := range d.Patterns {
			p, x, y := &d.Patterns[i], d.Patterns[i].Execution, want.Patterns[i].Execution
			if len(x.Calls) != len(y.Calls) || !reflect.DeepEqual(x.Items, y.Items) {
				t.Errorf("%s: %s: %d requests, %v; on the engine %d, %v", s.Name(), p.ID, len(x.Calls), x.Items, len(y.Calls), y.Items)
			}
		}
	}
}
