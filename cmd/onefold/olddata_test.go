package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// unpack extracts an archive into a directory.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	b, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(plain); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(in)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Directories made by older versions open as they are, contain the same data, and can be used. Each
// holds 60 page views of 9 visitors on 10 January 2026. The file name contains the commit of the
// version.
func TestOldDirectories(t *testing.T) {
	archives, err := filepath.Glob("testdata/old/*.tar.gz")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no old directories: %v", err)
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			dir := t.TempDir()
			unpack(t, archive, dir)
			month := func() bucketJSON {
				t.Helper()
				return fromJSON[reportJSON](t, onefold(t, "--data", dir, "report", "--site", "s", "--from", "2026-01-01", "--to", "2026-01-31", "--period", "month", "--json")).Totals
			}
			before := month()
			if before.PageViews != 60 {
				t.Errorf("%d page views, want 60", before.PageViews)
			}
			if told := onefold(t, "--data", dir, "dynamodb", "check"); !strings.Contains(told, "1 table: ") {
				t.Errorf("check: %s", told)
			}
			log := filepath.Join(t.TempDir(), "more.log")
			line := `192.0.2.77 - - [11/Jan/2026:10:00:00 +0000] "GET /new HTTP/1.1" 200 1 "-" "` + browser + `"` + "\n"
			if err := os.WriteFile(log, []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			onefold(t, "--data", dir, "import", "--site", "s", log)
			if after := month(); after.PageViews != before.PageViews+1 {
				t.Errorf("%d page views after one more, want %d", after.PageViews, before.PageViews+1)
			}
		})
	}
}
