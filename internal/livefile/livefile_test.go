package livefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// readNumber reads a file that holds a number.
func readNumber(r io.Reader) (*int, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(string(b))
	return &n, err
}

// A file is read when it appears and when it is replaced. An invalid file leaves the content as it was.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "number.txt")
	f := New(path, readNumber)
	if f.Look() == nil || f.Content() != nil || (*File[int])(nil).Content() != nil {
		t.Error("content without a file")
	}
	write := func(text string) error {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		return f.Look()
	}
	if err := write("7"); err != nil || *f.Content() != 7 {
		t.Fatal(err)
	}
	before := f.Content()
	if err := f.Look(); err != nil || f.Content() != before {
		t.Error("an unchanged file is read again")
	}
	if err := write("seven"); !errors.Is(err, strconv.ErrSyntax) || !strings.Contains(err.Error(), "number.txt") || f.Content() != before {
		t.Errorf("an invalid file: %v", err)
	}
	var readers sync.WaitGroup
	stop := make(chan struct{})
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = *f.Content()
			}
		}
	})
	for i := range 20 {
		if err := write(fmt.Sprint(100 + i)); err != nil || *f.Content() != 100+i {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if f.Look() == nil || *f.Content() != 119 {
		t.Error("content whose file is gone")
	}
}
