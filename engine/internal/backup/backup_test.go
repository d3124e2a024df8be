package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/backup"
)

var contents = map[string]string{"000001.sst": strings.Repeat("sorted ", 400_000), "MANIFEST-000002": "m", "empty.log": ""}

func source(t *testing.T) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("from", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range contents {
		write(t, fs, "from/"+name, text)
	}
	return fs
}

func write(t *testing.T, fs vfs.FS, path, text string) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, fs vfs.FS, path string) string {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func sameFiles(t *testing.T, fs vfs.FS, dir string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil || len(names) != len(contents) {
		t.Errorf("%v, %v", names, err)
	}
	for name, text := range contents {
		if read(t, fs, dir+"/"+name) != text {
			t.Errorf("%s is not the same", name)
		}
	}
}

var taken = backup.Manifest{Store: 1, Taken: time.Unix(1_776_693_600, 0).UTC(), Tables: []backup.Table{{Name: "a", Items: 1, Bytes: 2}}}

func TestDirectory(t *testing.T) {
	fs, ctx := source(t), context.Background()
	if _, err := backup.Copy(ctx, fs, "from", fs, "to", nil); !errors.Is(err, backup.ErrIncomplete) {
		t.Errorf("without a manifest: %v", err)
	}
	sealed, err := backup.Seal(ctx, fs, "from", taken, nil)
	if err != nil || len(sealed.Files) != 3 || sealed.Bytes() != 2_800_001 {
		t.Fatalf("%+v, %v", sealed, err)
	}
	var done, total int64
	if _, err := backup.Copy(ctx, fs, "from", fs, "to", func(d, of int64) { done, total = d, of }); err != nil {
		t.Fatal(err)
	}
	if done != 2_800_001 || total < done {
		t.Errorf("progress: %d of %d", done, total)
	}
	sameFiles(t, fs, "to")
}

// TestDirectoryDamaged changes the files of a backup and expects an error that names the change.
func TestDirectoryDamaged(t *testing.T) {
	for want, damage := range map[string]func(fs vfs.FS){
		"empty.log has 1 bytes":        func(fs vfs.FS) { write(t, fs, "from/empty.log", "x") },
		"MANIFEST-000002 has checksum": func(fs vfs.FS) { write(t, fs, "from/MANIFEST-000002", "n") },
		"more.sst does not belong":     func(fs vfs.FS) { write(t, fs, "from/more.sst", "x") },
		"000001.sst is missing":        func(fs vfs.FS) { remove(t, fs, "from/000001.sst") },
		"manifest: invalid character":  func(fs vfs.FS) { write(t, fs, "from/"+backup.ManifestName, "?") },
		"names a file \"../evil\"":     func(fs vfs.FS) { write(t, fs, "from/"+backup.ManifestName, `{"files":[{"name":"../evil"}]}`) },
		"made by a newer version":      func(fs vfs.FS) { write(t, fs, "from/"+backup.ManifestName, `{"format":2}`) },
		"no manifest":                  func(fs vfs.FS) { remove(t, fs, "from/"+backup.ManifestName) },
		"names a file \"MANIFEST-000\"": func(fs vfs.FS) {
			write(t, fs, "from/"+backup.ManifestName, `{"files":[{"name":"MANIFEST-000"},{"name":"MANIFEST-000"}]}`)
		},
	} {
		fs := source(t)
		if _, err := backup.Seal(context.Background(), fs, "from", taken, nil); err != nil {
			t.Fatal(err)
		}
		damage(fs)
		if _, err := backup.Copy(context.Background(), fs, "from", fs, "to", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func remove(t *testing.T, fs vfs.FS, path string) {
	t.Helper()
	if err := fs.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func archive(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := backup.WriteTar(context.Background(), &b, source(t), "from", taken, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTar(t *testing.T) {
	fs := vfs.NewMem()
	m, err := backup.Extract(context.Background(), bytes.NewReader(archive(t)), fs, "to", nil)
	if err != nil || m.Taken != taken.Taken || len(m.Tables) != 1 || m.Tables[0] != taken.Tables[0] {
		t.Fatalf("%+v, %v", m, err)
	}
	sameFiles(t, fs, "to")
}

// TestTarDamaged cuts the stream at random places and changes random bytes in it. If a stream is
// read without an error, the result must be what was written.
func TestTarDamaged(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	whole := archive(t)
	const tarEnd = 1024
	for range 60 {
		cut := whole[:rng.IntN(len(whole)-tarEnd-512)]
		if _, err := backup.Extract(context.Background(), bytes.NewReader(cut), vfs.NewMem(), "to", nil); err == nil {
			t.Errorf("cut to %d of %d bytes: no error", len(cut), len(whole))
		}
		changed := bytes.Clone(whole)
		changed[rng.IntN(len(whole))] ^= byte(1 + rng.IntN(255))
		fs := vfs.NewMem()
		if _, err := backup.Extract(context.Background(), bytes.NewReader(changed), fs, "to", nil); err == nil {
			sameFiles(t, fs, "to")
		}
	}
}

// TestTarNames checks that no name in an archive leads outside the directory.
func TestTarNames(t *testing.T) {
	for _, h := range []tar.Header{
		{Name: "../evil"}, {Name: "/etc/evil"}, {Name: "a/b"}, {Name: ".."}, {Name: "."}, {Name: ".hidden"}, {Name: strings.Repeat("n", 201)},
		{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, {Name: "link", Typeflag: tar.TypeLink, Linkname: "../x"},
		{Name: "folder", Typeflag: tar.TypeDir}, {Name: "nul", Typeflag: tar.TypeChar},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		fs := vfs.NewMem()
		if _, err := backup.Extract(context.Background(), &b, fs, "to", nil); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("%q: %v", h.Name, err)
		}
		if names, err := fs.List("to"); err != nil || len(names) > 0 {
			t.Errorf("%q: wrote %v (%v)", h.Name, names, err)
		}
	}
}

// bomb returns an archive of a few bytes that claims to have a file of one terabyte. It is a sparse
// file in GNU tar's format.
func bomb(t *testing.T) []byte {
	t.Helper()
	const says = 1 << 40
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	text := "1\n0\n1\n" // one run of data: one byte at offset 0
	records := ""
	for _, r := range [][2]string{{"GNU.sparse.major", "1"}, {"GNU.sparse.minor", "0"}, {"GNU.sparse.name", "000001.sst"}, {"GNU.sparse.realsize", fmt.Sprint(says)}} {
		line := " " + r[0] + "=" + r[1] + "\n"
		records += fmt.Sprint(len(line)+2) + line
	}
	// The tar package does not write records of sparse files, so turn a normal header into one.
	body := make([]byte, 512)
	copy(body, text)
	for _, e := range []struct {
		name string
		body []byte
	}{{"PaxHeader", []byte(records)}, {"GNUSparseFile.0/000001.sst", append(body, 'x')}} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.body)), Mode: 0o600, Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out := b.Bytes()
	out[156] = tar.TypeXHeader
	sum := 8 * int(' ')
	for i, c := range out[:512] {
		if i < 148 || i >= 156 {
			sum += int(c)
		}
	}
	copy(out[148:156], fmt.Sprintf("%06o\x00 ", sum))
	if h, err := tar.NewReader(bytes.NewReader(out)).Next(); err != nil || h.Size != says {
		t.Fatalf("the bomb is none: %+v, %v", h, err)
	}
	return out
}

// TestBombs checks that a small archive that claims to be large is refused before it takes memory
// or disk space.
func TestBombs(t *testing.T) {
	var manifest bytes.Buffer
	w := tar.NewWriter(&manifest)
	text := `{"files":[` + strings.Repeat("{},", 30<<20/3) + `{}]}`
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: backup.ManifestName, Size: int64(len(text)), Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string][]byte{`it holds "000001.sst"`: bomb(t), "the manifest is longer than": manifest.Bytes()} {
		fs := vfs.NewMem()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := backup.Extract(context.Background(), bytes.NewReader(b), fs, "to", nil); !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 128<<20 {
			t.Errorf("%s: %d bytes of memory", want, took)
		}
		if names, err := fs.List("to"); err != nil || len(names) > 0 {
			t.Errorf("wrote %v (%v)", names, err)
		}
	}
}

// TestUnfinished cuts an archive in the middle. The incomplete result must not be accepted as a
// database.
func TestUnfinished(t *testing.T) {
	whole := archive(t)
	for cut := 1024; cut < len(whole)-1024; cut += len(whole) / 7 {
		fs := vfs.NewMem()
		if _, err := backup.Extract(context.Background(), bytes.NewReader(whole[:cut]), fs, "to", nil); err == nil || !backup.Is(fs, "to") {
			t.Errorf("cut to %d bytes: %v, and it can be opened", cut, err)
		}
	}
	fs := source(t)
	if _, err := backup.Seal(context.Background(), fs, "from", taken, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := backup.Copy(ctx, fs, "from", fs, "to", func(int64, int64) { cancel() }); err == nil || !backup.Is(fs, "to") {
		t.Errorf("a copy that was stopped: %v, and it can be opened", err)
	}
}

func TestFill(t *testing.T) {
	fs := vfs.NewMem()
	write(t, fs, "file", "text")
	if _, err := backup.Fill(fs, "file", nil); !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("a file filled: %v", err)
	}
	for _, dir := range []string{"a/b", "empty/"} {
		if err := fs.MkdirAll("a", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := fs.MkdirAll("empty", 0o700); err != nil {
			t.Fatal(err)
		}
		failed := errors.New("failed")
		fill := func(result error) error {
			_, err := backup.Fill(fs, dir, func(dir string) (*backup.Manifest, error) {
				if err := fs.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, fs, dir+"/file", "text")
				return &backup.Manifest{}, result
			})
			return err
		}
		if err := fill(failed); !errors.Is(err, failed) {
			t.Error(err)
		}
		if _, err := fs.Stat(fs.PathJoin(dir) + ".partial"); err == nil {
			t.Error("what failed is left")
		}
		if err := fill(nil); err != nil {
			t.Error(err)
		}
		if read(t, fs, fs.PathJoin(dir, "file")) != "text" {
			t.Error("not filled")
		}
		if err := fill(nil); !errors.Is(err, backup.ErrNotEmpty) {
			t.Errorf("filled again: %v", err)
		}
	}
}

// FuzzExtract reads arbitrary bytes as a backup. The bytes must be refused or form a complete
// backup.
func FuzzExtract(f *testing.F) {
	var b bytes.Buffer
	fs := vfs.NewMem()
	if err := fs.MkdirAll("from", 0o700); err != nil {
		f.Fatal(err)
	}
	if _, err := backup.WriteTar(context.Background(), &b, fs, "from", taken, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		fs := vfs.NewMem()
		m, err := backup.Extract(context.Background(), bytes.NewReader(b), fs, "to", nil)
		if err != nil {
			return
		}
		names, err := fs.List("to")
		if err != nil || len(names) != len(m.Files) {
			t.Errorf("%d files, the manifest has %d (%v)", len(names), len(m.Files), err)
		}
	})
}
