package accesslog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
)

func gzipped(t *testing.T, texts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, text := range texts {
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func zstandard(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

func TestOpen(t *testing.T) {
	defer goleak.VerifyNone(t)
	text := strings.Repeat(combined+"\n", 500)
	skippable := []byte{0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'}
	for _, c := range []struct {
		name, want string
		stored     []byte
	}{
		{"plain", text, []byte(text)},
		{"empty", "", nil},
		{"short", "a", []byte("a")},
		{"gzip", text, gzipped(t, text)},
		{"gzip of many members", text + "x\n" + text, gzipped(t, text, "", "x\n", text)},
		{"gzip of nothing", "", gzipped(t, "")},
		{"zstd", text, zstandard(t, text)},
		{"zstd of many frames", text + text, append(zstandard(t, text), zstandard(t, text)...)},
		{"zstd after a skippable frame", text, append(skippable, zstandard(t, text)...)},
	} {
		path := filepath.Join(t.TempDir(), "log") // no extension: the content decides
		if err := os.WriteFile(path, c.stored, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{path, "-"} {
			f, err := Open(path, bytes.NewReader(c.stored))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			size := int64(len(c.stored))
			if path == "-" {
				size = -1
			}
			if f.Size() != size {
				t.Errorf("%s: size %d, want %d", c.name, f.Size(), size)
			}
			checkFile(t, c.name, f, c.want, int64(len(c.stored)))
		}
	}
}

func checkFile(t *testing.T, name string, f *File, want string, stored int64) {
	t.Helper()
	got, err := io.ReadAll(f)
	if err != nil || string(got) != want {
		t.Errorf("%s: got %d bytes, %v; want %d", name, len(got), err, len(want))
	}
	if f.BytesRead() != stored {
		t.Errorf("%s: %d bytes read, want %d", name, f.BytesRead(), stored)
	}
	if err := f.Close(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func TestOpenCutOffFile(t *testing.T) {
	text := strings.Repeat(combined+"\n", 500)
	for name, stored := range map[string][]byte{"gzip": gzipped(t, text), "zstd": zstandard(t, text)} {
		f, err := Open("-", bytes.NewReader(stored[:len(stored)-5]))
		if err != nil {
			t.Fatal(err)
		}
		lines, errs := readLines(f)
		if len(errs) != 1 || !errors.Is(errs[0], io.ErrUnexpectedEOF) {
			t.Errorf("%s: got errors %v, want io.ErrUnexpectedEOF", name, errs)
		}
		if name == "gzip" && len(lines) < 500 {
			t.Errorf("%s: got %d lines, want those that are there", name, len(lines))
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
	if _, err := Open(dir, nil); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v, want to be told that it is a directory", err)
	}
	if _, err := Open("-", strings.NewReader("\x1f\x8bgarbage")); err == nil || !strings.Contains(err.Error(), "as gzip") {
		t.Errorf("got %v, want to be told that it is no gzip", err)
	}
}
