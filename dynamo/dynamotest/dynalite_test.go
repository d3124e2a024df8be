package dynamotest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamotest"
)

const (
	minDelay = 10 * time.Millisecond
	maxDelay = time.Second
	patience = time.Minute

	dynaliteProgram = "dynalite/node_modules/dynalite/cli.js"
)

// notDynalite are the cases that dynalite is not held to: what it does not have and what it answers otherwise than
// DynamoDB does.
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

// TestDynalite holds an independent implementation to the suite: what both pass is not only our reading of DynamoDB.
func TestDynalite(t *testing.T) {
	if _, err := os.Stat(dynaliteProgram); errors.Is(err, fs.ErrNotExist) && os.Getenv("ONEFOLD_TEST_DYNALITE") == "" {
		t.Skip("dynalite is missing: `make dynalite` installs it, with Node.js; ONEFOLD_TEST_DYNALITE=1 makes this an error")
	}
	endpoint := startDynalite(t)
	dynamotest.Run(t, func(t *testing.T) (dynamo.API, dynamo.Streams) { return openEndpoint(t, endpoint), nil }, notDynalite)
}

// startDynalite runs dynalite until the test ends and returns its URL.
func startDynalite(t *testing.T) string {
	t.Helper()
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("node", dynaliteProgram, "--host", "127.0.0.1", "--port", port,
		"--createTableMs", "1", "--deleteTableMs", "1", "--updateTableMs", "1")
	var complaints strings.Builder
	server.Stderr = &complaints
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatalf("start dynalite: %v; node runs it", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it may have died of a request
		_ = server.Wait()
		if t.Failed() && complaints.Len() > 0 {
			t.Logf("dynalite says: %s", complaints.String())
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "listening") {
		t.Fatalf("dynalite did not start: %q %v", line, err)
	}
	return fmt.Sprintf("http://%s", address)
}

// freeAddress returns a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	return l.Addr().String()
}
