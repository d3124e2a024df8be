package wholebackup_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/engine"
)

// archive returns a tar stream with a file of each name.
func archive(t *testing.T, names ...string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		h := &tar.Header{Name: name, Mode: 0o600}
		if !strings.HasSuffix(name, "/") { // otherwise it is a directory
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

// A malicious backup cannot write anywhere but to the companion files.
func TestRestoreErrors(t *testing.T) {
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

// backup returns a backup of a new table with companion files.
func backup(t *testing.T) []byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := engine.Open(dir, engine.Options{TTLInterval: -1})
	must(err)
	must(os.WriteFile(dir+".usage", []byte("{}\n"), 0o600))
	must(os.Mkdir(dir+".follow", 0o700))
	must(os.WriteFile(filepath.Join(dir+".follow", "a.json"), []byte(`{"inode":1}`), 0o600))
	var b bytes.Buffer
	must(wholebackup.Write(t.Context(), &b, dir, func(w io.Writer) error {
		_, err := db.BackupTo(t.Context(), w, nil)
		return err
	}))
	must(db.Close())
	return b.Bytes()
}

// refused restores an invalid backup, and checks the error code and that nothing is left behind.
func refused(t *testing.T, what string, r io.Reader, code string) {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, "data")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := wholebackup.Restore(t.Context(), r, dir, nil)
	runtime.ReadMemStats(&after)
	if err = wholebackup.Explain(err, what, dir); err == nil || !strings.HasPrefix(err.Error(), code+": ") || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), code) != 1 {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("%s: left %v, %v", what, left, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 96<<20 { // most of it for the store that was tried
		t.Errorf("%s: took %d bytes of memory", what, took)
	}
}

// entry returns the header of a file in an archive.
func entry(t *testing.T, h *tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zeros is an endless reader of zeros.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// Truncated backups, garbage and malicious backups are rejected, with bounded memory, and leave
// nothing behind.
func TestHostileBackups(t *testing.T) {
	whole := backup(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	const end = 1024 // end of an archive, which may be missing
	for range 25 {
		at := random.IntN(len(whole) - end - 512)
		refused(t, fmt.Sprintf("cut to %d of %d bytes", at, len(whole)), bytes.NewReader(whole[:at]), "bad_backup")
	}
	garbage := make([]byte, 1<<20)
	for i := range garbage {
		garbage[i] = byte(random.Uint32())
	}
	garbage[0] = 'g' // not the start of a compressed stream
	refused(t, "garbage", bytes.NewReader(garbage), "bad_backup")
	refused(t, "nothing", bytes.NewReader(nil), "bad_backup")

	for _, name := range []string{"../evil", "/etc/evil", "a/../../evil", "beside/../evil", "beside/follow/../../evil"} {
		refused(t, name, bytes.NewReader(entry(t, &tar.Header{Typeflag: tar.TypeReg, Name: name})), "bad_backup")
	}
	for _, kind := range []byte{tar.TypeSymlink, tar.TypeLink, tar.TypeDir, tar.TypeChar, tar.TypeFifo} {
		refused(t, "kind "+string(kind), bytes.NewReader(entry(t, &tar.Header{Typeflag: kind, Name: "beside/usage", Linkname: "/etc/passwd"})), "bad_backup")
	}

	long := entry(t, &tar.Header{Typeflag: tar.TypeReg, Name: "PaxHeader", Size: 1 << 32}) // a header of 4 GiB
	long[156] = tar.TypeXHeader
	resum(long)
	refused(t, "a huge header", io.MultiReader(bytes.NewReader(long), zeros{}), "bad_backup")

	huge := entry(t, &tar.Header{Typeflag: tar.TypeReg, Name: "beside/usage", Size: 1 << 40})
	refused(t, "a huge file beside", io.MultiReader(bytes.NewReader(huge), zeros{}), "bad_backup")
	var many []io.Reader // three of which are too many
	for i := range 3 {
		many = append(many, bytes.NewReader(entry(t, &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint("beside/follow/", i), Size: 32 << 20})), io.LimitReader(zeros{}, 32<<20))
	}
	refused(t, "many files beside", io.MultiReader(many...), "bad_backup")
	twice := entry(t, &tar.Header{Typeflag: tar.TypeReg, Name: "beside/usage"})
	refused(t, "a file twice", io.MultiReader(bytes.NewReader(twice), bytes.NewReader(twice)), "bad_backup")
	sparse := entry(t, &tar.Header{Typeflag: tar.TypeReg, Name: "beside/usage", PAXRecords: map[string]string{"VENDOR.x": "GNU"}})
	sparse = bytes.Replace(sparse, []byte("VENDOR.x=GNU"), []byte("GNU.sparse.a"), 1)
	refused(t, "an odd header", bytes.NewReader(sparse), "bad_backup")
}

// resum recomputes the checksum of a header.
func resum(h []byte) {
	sum := 8 * int(' ')
	for i, c := range h[:512] {
		if i < 148 || i >= 156 {
			sum += int(c)
		}
	}
	copy(h[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

// Nothing is overwritten. If a companion file cannot be restored, the table is removed too.
func TestRestoreOverNothing(t *testing.T) {
	whole := backup(t)
	for name, code := range map[string]string{"data/x": "not_empty", "data": "not_empty", "data.partial/x": "not_empty", "data.usage": "file_exists", "data.follow/a.json": "file_exists", "data.beside.partial/0": "file_exists"} {
		home := t.TempDir()
		file, dir := filepath.Join(home, name), filepath.Join(home, "data")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("mine"), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, _, err := wholebackup.Restore(t.Context(), bytes.NewReader(whole), dir, nil)
		if err = wholebackup.Explain(err, "b.tar", dir); err == nil || !strings.HasPrefix(err.Error(), code+": ") {
			t.Errorf("%s is there: %v, want %s", name, err, code)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
			t.Errorf("%s is %q, %v", name, text, err)
		}
		if left, err := os.ReadDir(home); err != nil || len(left) != 1 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}

// A backup ends with the error of its reader or its table.
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
