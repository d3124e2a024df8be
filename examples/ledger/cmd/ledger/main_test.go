package main

import (
	"bufio"
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/examples/ledger"
)

// asCommand makes the test binary behave as the program, so that a test can kill a real process.
const asCommand = "LEDGER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The README shows the output of the program.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), nil, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "\n"+out.String()+"```") {
		t.Errorf("the README does not show what the program prints:\n%s", out.String())
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"--clients", "0"}, {"--each", "0"}, {"--accounts", "1"}, {"--accounts", "1001"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("%v: error %v", args, err)
		}
	}
}

// A process with 32 clients is killed again and again. Every transfer that it reported has
// happened, every other one completely or not at all. The last run, which sends everything again,
// finds the accounts balanced.
func TestKilled(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"--data", data, "--each", "40", "--tell"}
	acknowledged := map[string]bool{}
	for range 4 {
		for _, id := range killed(t, args, 1+random.IntN(400)) {
			acknowledged[id] = true
		}
		lookAfter(t, data, acknowledged)
	}
	var out bytes.Buffer
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	said := strings.Fields(out.String())
	for id := range acknowledged {
		if !bytes.Contains(out.Bytes(), []byte(id+"\n")) {
			t.Errorf("transfer %s had happened, and was refused in the end", id)
		}
	}
	if !strings.Contains(out.String(), "10 accounts have 10000.00 together, as at the start") || len(said) < len(acknowledged) {
		t.Errorf("it says %s", out.String())
	}
}

// killed starts the program, kills it when it has reported so many transfers, and returns all that
// it reported.
func killed(t *testing.T, args []string, after int) (ids []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), " ") { // the summary of a run that was faster
			continue
		}
		if ids = append(ids, lines.Text()); len(ids) == after {
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // returns that it was killed
	if len(ids) == 0 {
		t.Fatal("nothing happened")
	}
	return ids
}

// lookAfter opens the table of a killed process, and checks it.
func lookAfter(t *testing.T, data string, acknowledged map[string]bool) {
	t.Helper()
	db, err := engine.Open(data, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	b, err := newBank(t.Context(), db, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.worker.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.check(t.Context(), 10, &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
	for id := range acknowledged {
		if _, err := ledger.GetTransfer.Get(t.Context(), b.table, ledger.TransferKey{TransferID: id}); err != nil {
			t.Errorf("transfer %s was told of: %v", id, err)
		}
	}
}
