package backups_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/onefold/onefold/cmd/onefold/internal/backups"
)

var began = time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)

// IDs of two tables.
var ours, theirs = backups.TableID("ours"), backups.TableID("theirs")

// place opens a place.
func place(t *testing.T, at string) backups.Place {
	t.Helper()
	p, err := backups.OpenPlace(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bucket returns an empty bucket of a server in this process. refuse may respond instead of it.
func bucket(t *testing.T, refuse func(http.ResponseWriter, *http.Request) bool) backups.Place {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("mine"); err != nil {
		t.Fatal(err)
	}
	inner := gofakes3.New(memory).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse == nil || !refuse(w, r) {
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return place(t, "s3://mine/of/onefold?endpoint="+server.URL)
}

// names returns the names of the backups at a place.
func names(t *testing.T, p backups.Place) (all []string) {
	t.Helper()
	files, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		all = append(all, f.Name.String())
	}
	return all
}

// put writes a backup of a few bytes.
func put(t *testing.T, p backups.Place, n backups.Name, text string) {
	t.Helper()
	if err := p.Write(t.Context(), n, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, p backups.Place, n backups.Name) []byte {
	t.Helper()
	r, size, err := p.Open(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || int64(len(b)) != size {
		t.Fatalf("%d bytes of %d: %v", len(b), size, err)
	}
	return b
}

func TestNames(t *testing.T) {
	for _, n := range []backups.Name{{Time: began, Table: ours}, {Time: began, Table: theirs, Encrypted: true}} {
		if got, ok := backups.ParseName(n.String()); !ok || got != n {
			t.Errorf("%s is %+v, %t", n, got, ok)
		}
	}
	good := backups.Name{Time: began, Table: ours}.String()
	for _, name := range []string{"", "x" + good, good + ".partial", "." + good, strings.ToUpper(good), "onefold-20261312T100000Z-00000000.tar.zst", "../" + good} {
		if n, ok := backups.ParseName(name); ok {
			t.Errorf("%q is %+v", name, n)
		}
	}
}

// A backup exists only when it is complete. Other files are neither listed nor changed.
func TestPlaces(t *testing.T) {
	home := t.TempDir()
	for what, p := range map[string]backups.Place{"directory": place(t, filepath.Join(home, "backups")), "bucket": bucket(t, nil)} {
		t.Run(what, func(t *testing.T) {
			for range 2 {
				if err := p.Prepare(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			one, two := backups.Name{Time: began, Table: ours}, backups.Name{Time: began.Add(time.Hour), Table: ours, Encrypted: true}
			put(t, p, two, "two")
			put(t, p, one, "one")
			broken := errors.New("broken")
			half := backups.Name{Time: began.Add(2 * time.Hour), Table: ours}
			err := p.Write(t.Context(), half, func(w io.Writer) error {
				_, err := io.WriteString(w, "half")
				return errors.Join(err, broken)
			})
			if !errors.Is(err, broken) {
				t.Errorf("a backup that fails: %v", err)
			}
			if err := p.Write(t.Context(), one, func(io.Writer) error { return nil }); !errors.Is(err, backups.ErrExists) {
				t.Errorf("a name that is taken: %v", err)
			}
			if got := names(t, p); !slices.Equal(got, []string{one.String(), two.String()}) {
				t.Errorf("there are %v", got)
			}
			if got := read(t, p, one); string(got) != "one" {
				t.Errorf("%s is %q", one, got)
			}
			if _, _, err := p.Open(t.Context(), half); !errors.Is(err, backups.ErrNone) {
				t.Errorf("half a backup: %v", err)
			}
			for range 2 {
				if err := p.Delete(t.Context(), one); err != nil {
					t.Fatal(err)
				}
			}
			if got := names(t, p); !slices.Equal(got, []string{two.String()}) {
				t.Errorf("after one was deleted there are %v", got)
			}
		})
	}
	if left, err := os.ReadDir(filepath.Join(home, "backups")); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

// Partial files of a killed process are removed after a while without writes. Files of other
// programs stay.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	name := backups.Name{Time: began, Table: ours}.String()
	old := []string{"." + name + ".partial", "mine.partial", ".mine.partial", name + ".partial"}
	for _, n := range append(old, ".onefold-20260512T110000Z-00000000.tar.zst.age.partial") {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range old {
		if err := os.Chtimes(filepath.Join(dir, n), began, time.Now().Add(-2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := place(t, dir).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 4 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := place(t, dir+"/not/mounted").Prepare(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "no_directory: ") {
		t.Errorf("a directory in one that is not there: %v", err)
	}
	if _, err := place(t, dir+"/none").List(t.Context()); !errors.Is(err, backups.ErrNoPlace) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := backups.OpenPlace(t.Context(), "http://x"); err == nil || !strings.HasPrefix(err.Error(), "bad_destination: ") {
		t.Errorf("another URL: %v", err)
	}
}

// A bucket that rejects an upload has nothing of it, and the error has the reason.
func TestBucketRefuses(t *testing.T) {
	p := bucket(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<Error><Code>AccessDenied</Code><Message>No</Message></Error>`) // the client is part of the test
		return true
	})
	m := &backups.Maker{Place: p, Table: ours, Write: func(_ context.Context, w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte("x"), 1<<20))
		return err
	}}
	if _, err := m.Make(t.Context(), began, 0); err == nil || !strings.Contains(err.Error(), "no_access: ") {
		t.Errorf("refused: %v", err)
	}
	if got := names(t, p); len(got) > 0 {
		t.Errorf("there are %v", got)
	}
}
