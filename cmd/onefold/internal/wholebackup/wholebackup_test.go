package wholebackup_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/engine"
)

// archive is a tar stream of a file of each name.
func archive(t *testing.T, names ...string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		h := &tar.Header{Name: name, Mode: 0o600}
		if !strings.HasSuffix(name, "/") { // which is a folder
			h.Size = 1
		}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = w.Write(make([]byte, h.Size))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// What a backup made by somebody else holds gets nowhere but beside the directory.
func TestRestoreRefuses(t *testing.T) {
	for _, name := range []string{"beside/../x", "beside/follow/../../x", "beside/follow/", "beside/follow/.x", "beside/keys", "beside//etc/x", `beside/follow/..\x`, "beside/"} {
		dir := t.TempDir()
		_, _, err := wholebackup.Restore(t.Context(), archive(t, name), filepath.Join(dir, "data"), nil)
		if !errors.Is(err, wholebackup.ErrForeign) {
			t.Errorf("%q: %v", name, err)
		}
		if files, err := filepath.Glob(filepath.Join(dir, "data.*")); err != nil || len(files) > 0 {
			t.Errorf("%q: there is %v", name, files)
		}
	}
	for _, r := range []io.Reader{bytes.NewReader(nil), bytes.NewReader(bytes.Repeat([]byte("x"), 2000)), archive(t, "beside/usage"), archive(t, "CURRENT")} {
		dir := filepath.Join(t.TempDir(), "data")
		if _, _, err := wholebackup.Restore(t.Context(), r, dir, nil); err == nil {
			t.Error("no backup was restored")
		}
		if _, err := os.Stat(dir + ".usage"); err == nil {
			t.Error("something was put beside a directory that is not there")
		}
	}
}

// A backup whose reader or table fails ends with that failure.
func TestBackupFails(t *testing.T) {
	broken := errors.New("broken")
	err := wholebackup.Write(t.Context(), io.Discard, filepath.Join(t.TempDir(), "data"), func(io.Writer) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("a table that cannot be read: %v", err)
	}
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = wholebackup.Write(t.Context(), refusing{broken}, filepath.Join(t.TempDir(), "data"), func(w io.Writer) error {
		_, err := db.BackupTo(t.Context(), w, nil)
		return err
	})
	if !errors.Is(err, broken) {
		t.Errorf("a reader that has gone: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }
