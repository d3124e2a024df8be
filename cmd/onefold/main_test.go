package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/internal/recorded"
)

// asCommand makes the test binary behave as onefold, so that a test can start, kill and restart a
// real process.
const asCommand = "ONEFOLD_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	testscript.Main(withAccessKey{m}, map[string]func(){"onefold": main})
}

// withAccessKey sets the access key of test databases for all tests at once, because a test that
// sets an environment variable cannot run in parallel with others. Commands of scripts do not get
// it.
type withAccessKey struct{ *testing.M }

func (w withAccessKey) Run() int {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": testKeyID, "AWS_SECRET_ACCESS_KEY": testKeySecret, "AWS_SESSION_TOKEN": ""} {
		if err := os.Setenv(name, value); err != nil {
			panic(err) // the system does not allow the name or value
		}
	}
	return w.M.Run()
}

func TestScripts(t *testing.T) {
	clitest.NeedProcesses(t)
	testscript.Run(t, scripts("testdata/script", true, func(env *testscript.Env) error { return nil }))
}

// scripts are user sessions in a directory, each in an environment made by setup. Lines for
// embedded tables begin with [embedded].
func scripts(dir string, embedded bool, setup func(*testscript.Env) error) testscript.Params {
	return testscript.Params{
		Dir:             dir,
		ContinueOnError: true, // all lines that differ are reported
		Setup: func(env *testscript.Env) error {
			env.Setenv("ONEFOLD_DATA_DIR", env.WorkDir+"/data")
			env.Setenv("RECORDED", recorded.Dir())
			env.Setenv("MISSING", recorded.Missing(recorded.MachineTemperature))
			return setup(env)
		},
		Condition: func(condition string) (bool, error) {
			if condition == "embedded" {
				return embedded, nil
			}
			return isRecorded(condition)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"alert": rememberAlert, "damage": damage, "ruled": ruled},
	}
}

// onefold runs a command in this process. The test fails if the command fails.
func onefold(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &errs}); code != exitOK {
		t.Fatalf("onefold %s: exit code %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

func fromJSON[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
	return v
}
