package table_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/onefold/onefold/dynamo/dynamotest"
)

// The tests of this package hold on a DynamoDB of others, too, but for those that need transactions, and some
// that it fails.
func TestOnDynalite(t *testing.T) {
	if os.Getenv(onDynalite) != "" {
		return // this is one of them
	}
	dynamotest.Dynalite(t) // or skip
	skip := strings.Join([]string{
		"OnDynalite", "Transact", "Ensure", // items do not expire there
		"PatchRefuses",             // it does not return what a condition failed on
		"DerivedFollows", "Modify", // it never answers an update whose condition compares sets
	}, "|")
	cmd := exec.Command(os.Args[0], "-test.run", "^Test", "-test.skip", skip, "-test.timeout", "3m")
	cmd.Env = append(os.Environ(), onDynalite+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
