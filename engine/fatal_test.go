package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/enginetest"
)

// ends lists the ways in which a process with a database behind a web server can end. Each function
// returns the options for the database, and a function that makes it fail.
var ends = map[string]func(o engine.Options) (engine.Options, func()){
	"disk": func(o engine.Options) (engine.Options, func()) {
		fs := enginetest.NewDisk(vfs.NewMem())
		o.FS = fs
		return o, func() { fs.Break(enginetest.Dead, 1) }
	},
	"panic": func(o engine.Options) (engine.Options, func()) {
		fails := false
		o.FS, o.KeyPrefix = vfs.NewMem(), func(key string) string {
			if fails {
				panic("a fault of the engine, with locks held")
			}
			return key
		}
		return o, func() { fails = true }
	},
}

// TestFatalErrorEndsProcess makes a write fail behind a web server that recovers from panics. The process
// must end anyway, with its own exit code and one line that gives the reason.
func TestFatalErrorEndsProcess(t *testing.T) {
	if way := os.Getenv("ONEFOLD_TEST_END"); way != "" {
		serveUntilTheEnd(t, way)
		return
	}
	for way, says := range map[string]string{"disk": "engine: the disk failed: input/output error", "panic": "a fault of the engine"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFatalErrorEndsProcess$")
		cmd.Env = append(os.Environ(), "ONEFOLD_TEST_END="+way)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != engine.ExitFatal {
			t.Errorf("%s: %v, want exit code %d\n%s", way, err, engine.ExitFatal, out)
		}
		if n := strings.Count(string(out), "the process exits"); n != 1 || !strings.Contains(string(out), says) {
			t.Errorf("%s: it says\n%s", way, out)
		}
	}
}

// serveUntilTheEnd runs in the process that ends.
func serveUntilTheEnd(t *testing.T, way string) {
	ctx := context.Background()
	o, fail := ends[way](engine.Options{TTLInterval: -1, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	db := must[*engine.DB](t)(engine.Open("data", o))
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("table"), Item: item{"pk": str(r.URL.Path), "sk": str("s")}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	defer s.Close()
	for _, path := range []string{"/well", "/fails", "/hangs"} {
		answer, err := http.Get(s.URL + path)
		t.Errorf("%s is answered: %v %v", path, answer, err)
		fail()
	}
}
