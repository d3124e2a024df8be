package table_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/onefold/onefold/dynamo/dynamotest"
)

// TestOnDynalite runs the tests of this package against Dynalite, an independent implementation of
// DynamoDB. It leaves out the tests that need transactions, and some that Dynalite fails.
func TestOnDynalite(t *testing.T) {
	if os.Getenv(onDynalite) != "" {
		return // this process already runs the tests against Dynalite
	}
	dynamotest.Dynalite(t) // skips the test if Dynalite is not available
	skip := strings.Join([]string{
		"OnDynalite", "Transact", "Ensure", // items do not expire in Dynalite
		"PatchRefuses",             // Dynalite does not return the item on which a condition failed
		"DerivedFollows", "Modify", // Dynalite never answers an update whose condition compares sets
	}, "|")
	cmd := exec.Command(os.Args[0], "-test.run", "^Test", "-test.skip", skip, "-test.timeout", "3m")
	cmd.Env = append(os.Environ(), onDynalite+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
