package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/cockroachdb/pebble/v2"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/onefold/onefold/cmd/onefold/internal/backups"
	"github.com/onefold/onefold/engine"
)

// ownBucket returns the URL of a bucket in this process.
func ownBucket(t *testing.T) string {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(memory).Server())
	t.Cleanup(server.Close)
	return "s3://backups/of/mine?endpoint=" + server.URL
}

// identity creates a private key, and returns its file and its public key.
func identity(t *testing.T) (file, recipient string) {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(file, []byte(key.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, key.Recipient().String()
}

// metric returns the value of a server's metric. Rate limits are waited for.
func (s *served) metric(t *testing.T, name string) string {
	t.Helper()
	var text string
	soon(t, "metrics are told", func() bool {
		var status int
		status, _, text = s.ask(t, http.MethodGet, "/metrics", "")
		return status != http.StatusTooManyRequests
	})
	_, after, _ := strings.Cut(text, "\n"+name+" ")
	value, _, _ := strings.Cut(after, "\n")
	return value
}

type listedBackup struct {
	Name  string
	Bytes int64
}

// A server makes the first backup at once, encrypted, and after a restart none until one is due.
// The backups can be verified and restored, from a directory and from a bucket.
func TestServerBacksUp(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	key, recipient := identity(t)
	for what, to := range map[string]string{"directory": filepath.Join(dir, "backups"), "bucket": ownBucket(t)} {
		args := []string{"--data", data, "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--backup-to", to, "--backup-recipient", recipient}
		for range 2 {
			s := startServer(t, args...)
			soon(t, "a backup was made, or found", func() bool { return s.metric(t, "onefold_backup_last_success_timestamp_seconds") > "1" })
			if up, failed := s.metric(t, `onefold_part_up{part="backup"}`), s.metric(t, "onefold_backup_failures_total"); up != "1" || failed != "0" {
				t.Errorf("%s: up %s, failures %s", what, up, failed)
			}
			if err := s.end(t, syscall.SIGTERM); err != nil {
				t.Errorf("%s: stopped: %v", what, err)
			}
		}
		all := fromJSON[[]listedBackup](t, onefold(t, "--json", "backup", "list", to))
		if len(all) != 1 || !strings.HasSuffix(all[0].Name, ".tar.zst.age") {
			t.Fatalf("%s: there are %+v", what, all)
		}
		v := fromJSON[struct{ Items, Bytes int64 }](t, onefold(t, "--json", "backup", "verify", to, "--identity", key, "--at", all[0].Name))
		if v.Items == 0 || v.Bytes != all[0].Bytes {
			t.Errorf("%s: verified %+v of %+v", what, v, all[0])
		}
		restored := filepath.Join(dir, what)
		onefold(t, "--data", restored, "backup", "restore", to, "--identity", key)
		onefold(t, "--data", restored, "dynamodb", "check")
	}
	// A backup in a bucket by its own URL.
	to := ownBucket(t)
	onefold(t, "--data", data, "backup", to)
	name := fromJSON[[]listedBackup](t, onefold(t, "--json", "backup", "list", to))[0].Name
	onefold(t, "backup", "verify", strings.Replace(to, "?", "/"+name+"?", 1))
}

// A server whose backups fail, because a disk is not mounted or is full, reports it and continues.
// It leaves no partial files.
func TestServerCannotBackUp(t *testing.T) {
	dir := t.TempDir()
	data, to := filepath.Join(dir, "data"), filepath.Join(dir, "backups")
	serve := func(args ...string) *served {
		return startServer(t, append([]string{"--data", data, "serve", "--addr", "127.0.0.1:0", "--token", testToken}, args...)...)
	}
	if err := serve().end(t, syscall.SIGTERM); err != nil { // it creates files for which a full disk has no space
		t.Fatal(err)
	}
	for what, args := range map[string][]string{
		"not mounted": {"--backup-to", filepath.Join(dir, "not", "mounted")},
		"no room":     {"--backup-to", to, "--disk-reserve", "9000000000000000"},
	} {
		s := serve(args...)
		soon(t, "the failure is told", func() bool { return s.metric(t, `onefold_part_up{part="backup"}`) == "0" })
		var health struct{ Failing []struct{ Name string } }
		_, _, text := s.ask(t, http.MethodGet, "/healthz", "")
		if err := json.Unmarshal([]byte(text), &health); err != nil || len(health.Failing) != 1 || health.Failing[0].Name != "backup" {
			t.Errorf("%s: %s", what, text)
		}
		if last, failed := s.metric(t, "onefold_backup_last_success_timestamp_seconds"), s.metric(t, "onefold_backup_failures_total"); last != "0" || failed != "1" {
			t.Errorf("%s: the last backup is told at %s, failures %s", what, last, failed)
		}
		if err := s.end(t, syscall.SIGTERM); err != nil {
			t.Errorf("%s: stopped: %v", what, err)
		}
	}
	empty(t, "no room", to)
}

// empty reports files left in a directory as an error.
func empty(t *testing.T, what, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%s: left %v, %v", what, left, err)
	}
}

// decompressed returns the contents of a compressed file, or nil if it is damaged.
func decompressed(b []byte) []byte {
	r, err := backups.Unseal(bytes.NewReader(b), nil)
	if err != nil {
		return nil
	}
	defer r.Close()
	if b, err = io.ReadAll(r); err != nil {
		return nil
	}
	return b
}

// A flipped bit, a truncation and a missing backup are found, with exit code 3, and a failed
// attempt leaves nothing. Without the right key nothing can be said.
func TestVerifyFindsDamage(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	at := func(name string) string { return filepath.Join(dir, name) }
	key, recipient := identity(t)
	onefold(t, "--data", at("data"), "site", "create", "s")
	onefold(t, "--data", at("data"), "backup", at("plain.tar.zst"))
	onefold(t, "--data", at("data"), "backup", at("secret.tar.zst.age"), "--recipient", recipient)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	const header = 250 // names the recipients of an encrypted file; a flipped bit there looks like another recipient
	for name, from := range map[string]int{"plain.tar.zst": 0, "secret.tar.zst.age": header} {
		whole, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, b []byte) {
			t.Helper()
			if err := os.WriteFile(at("try"), b, 0o600); err != nil {
				t.Fatal(err)
			}
			if code, errs := fails("backup", "verify", at("try"), "--identity", key); code != exitDifferences || !strings.Contains(errs, "bad_backup: ") {
				t.Errorf("%s, %s: %d %s", name, what, code, errs)
			}
			empty(t, what, temp)
		}
		for range 8 {
			i := from + random.IntN(len(whole)-from)
			flipped := bytes.Clone(whole)
			flipped[i] ^= 1 << random.IntN(8)
			if from > 0 || !bytes.Equal(decompressed(flipped), decompressed(whole)) { // some bits of zstd have no effect
				try("a bit", flipped)
			}
			try("a cut", whole[:i])
		}
	}
	if code, errs := fails("backup", "verify", temp); code != exitDifferences || !strings.Contains(errs, "no_backup: ") {
		t.Errorf("none: %d %s", code, errs)
	}
	other, _ := identity(t)
	if code, errs := fails("backup", "verify", at("secret.tar.zst.age"), "--identity", other); code != exitFailed || !strings.Contains(errs, "wrong_identity: ") {
		t.Errorf("another key: %d %s", code, errs)
	}
	empty(t, "the end", temp)
}

// Neither a backup nor a restore uses the reserve of a disk, and a failed attempt on a full disk
// leaves nothing.
func TestBackupsLeaveRoom(t *testing.T) {
	const all = "9000000000000000"
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	onefold(t, "--data", at("data"), "site", "create", "s")
	onefold(t, "--data", at("data"), "backup", at("backups")+"/")
	onefold(t, "--data", at("data"), "backup", at("one.tar"))
	tells := func(args ...string) {
		t.Helper()
		if code, errs := fails(append([]string{"--data", at("data")}, args...)...); code != exitFailed || !strings.Contains(errs, "disk_full: ") {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
	if err := os.Mkdir(at("full"), 0o700); err != nil {
		t.Fatal(err)
	}
	tells("--disk-reserve", all, "backup", at("full"))
	empty(t, "a backup", at("full"))
	tells("--disk-reserve", all, "backup", "verify", at("one.tar"), "--dir", at("full"))
	tells("--disk-reserve", all, "--data", at("full/restored"), "backup", "restore", at("backups"))
	empty(t, "a restore", at("full"))

	disk := smallDisk(t)
	fill(t, disk, 0)
	if code, errs := fails("--data", at("data"), "backup", disk); code != exitFailed || !strings.Contains(errs, "disk_full: backup to ") || strings.Count(errs, "\n") != 1 {
		t.Errorf("a full disk: %d %s", code, errs)
	}
	free(t, disk)
	empty(t, "a full disk", disk)
}

// A killed backup leaves no file with the name of a backup.
func TestKilledBackups(t *testing.T) {
	dir := t.TempDir()
	data, to, log := filepath.Join(dir, "data"), filepath.Join(dir, "backups"), filepath.Join(dir, "access.log")
	generatedLog(t, log, 3000)
	onefold(t, "--data", data, "site", "create", "s")
	onefold(t, "--data", data, "import", "--site", "s", log)
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 12 {
		cmd := process(t, "--data", data, "backup", to)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(random.Int64N(int64(600*time.Millisecond))), func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it was killed, or was faster
		kill.Stop()
	}
	all := fromJSON[[]listedBackup](t, onefold(t, "--json", "backup", "list", to))
	for _, b := range all {
		onefold(t, "backup", "verify", to, "--at", b.Name)
	}
	t.Logf("%d of 12 were made", len(all))
}

// A process that is killed while it opens a table, between manifest and log, leaves no log. The
// next process can back the table up in every way.
func TestBackupAfterKilledOpening(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	onefold(t, "--data", at("data"), "site", "create", "s")
	for name, command := range map[string][]string{"whole.tar": {"backup"}, "table.tar": {"dynamodb", "backup"}, "table": {"dynamodb", "backup"}} {
		killOpening(t, at("data"))
		onefold(t, append(append([]string{"--data", at("data")}, command...), at(name))...)
		if command[0] == "backup" {
			onefold(t, "backup", "verify", at(name))
			continue
		}
		restored := at(name + ".restored")
		onefold(t, "dynamodb", "restore", at(name), restored)
		onefold(t, "--data", restored, "dynamodb", "check")
	}
}

// killOpening leaves the files of a table in the state of a process killed before it created its
// log.
func killOpening(t *testing.T, data string) {
	t.Helper()
	db, err := pebble.Open(data, &pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil { // the log is empty
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(data, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("there are logs %v (%v)", logs, err)
	}
	if err := os.Remove(logs[0]); err != nil {
		t.Fatal(err)
	}
}

// A backup that fails although no damage of the table is known has its own error code.
func TestUnusableBackupIsTold(t *testing.T) {
	var errs bytes.Buffer
	code := exitCode(streams{err: &errs}, fmt.Errorf("backup: %w", engine.ErrBackupUnusable))
	if code != exitFailed || !strings.HasPrefix(errs.String(), "onefold: backup_unusable: ") {
		t.Errorf("%d %s", code, errs.String())
	}
}

// A backup with intact files, of a table with inconsistent rows, is reported.
func TestVerifyReadsRows(t *testing.T) {
	dir := t.TempDir()
	data, to := filepath.Join(dir, "data"), filepath.Join(dir, "b.tar.zst")
	onefold(t, "--data", data, "site", "create", "s")
	db, err := pebble.Open(data, &pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set([]byte("\xee belongs to nothing"), nil, pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	onefold(t, "--data", data, "backup", to)
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"backup", "verify", to}, streams{in: strings.NewReader(""), out: &out, err: &errs})
	if code != exitDifferences || !strings.Contains(out.String(), "unknown") || !strings.Contains(errs.String(), "damaged: 1 finding") {
		t.Errorf("%d %s %s", code, out.String(), errs.String())
	}
}
