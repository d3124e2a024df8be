package dynamotest_test

import (
	"testing"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamotest"
)

const (
	minDelay = 10 * time.Millisecond
	maxDelay = time.Second
	patience = time.Minute
)

// notDynalite lists the cases that Dynalite need not pass, because it lacks a feature or answers
// differently from DynamoDB.
var notDynalite = map[string]string{
	"TimeToLive":                 "has DescribeTimeToLive only",
	"TransactWrite":              "has no transactions",
	"TransactGet":                "has no transactions",
	"Capacity/transactions":      "has no transactions",
	"Streams":                    "has no streams",
	"Statements":                 "does not speak PartiQL",
	"Indexes":                    "adds an index with provisioned throughput only",
	"Conditions/item that fails": "does not know ReturnValuesOnConditionCheckFailure",
	"Limits/too deep":            "does not count levels",
	"Conditions/too long":        "does not measure expressions",
	"Update/nested list_append":  "nests list_append",
	"Update/syntax":              "names what it expected in place of the token",
	"Update/empty index key":     "takes an empty key of an index",
	"QueryIndex/empty key":       "takes an empty key of an index",
	"QueryIndex/attribute that is not projected": "does not look",
	"Query/select":                          "takes ALL_PROJECTED_ATTRIBUTES of a table",
	"Query/start: wrong type":               "leaves out that it is the starting key",
	"Scan/segment alone":                    "takes segment 0 for none",
	"Numbers/sum of too many digits":        "rounds it",
	"Numbers/taken +3":                      "takes no plus sign",
	"Update/remove several indexes":         "renumbers the list between removals",
	"Conditions/absent = lacking":           "holds two missing paths to be equal",
	"Conditions/absent <> lacking":          "holds two missing paths to be equal",
	"Conditions/m.l = :l":                   "compares lists by identity",
	"Tables/three keys":                     "prints the keys as JSON",
	"Tables/exists":                         "gives no message",
	"Tables/short name":                     "words it otherwise",
	"Tables/include without attributes":     "takes it",
	"BatchGet/nothing":                      "words it otherwise",
	"BatchWrite/nothing":                    "words it otherwise",
	"Capacity/an entry appears":             "does not charge indexes",
	"Capacity/what the entry holds changes": "does not charge indexes",
	"Capacity/the entry's key moves":        "does not charge indexes",
	"Capacity/the entry goes":               "does not charge indexes",
}

// TestDynalite runs the suite against an independent implementation. What both pass is not only our
// reading of DynamoDB.
func TestDynalite(t *testing.T) {
	endpoint := dynamotest.StartDynalite(t)
	dynamotest.Run(t, func(t *testing.T) (dynamo.API, dynamo.Streams) { return openEndpoint(t, endpoint), nil }, notDynalite)
}
