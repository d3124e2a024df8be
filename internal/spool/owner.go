package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrOther is returned by Open when records wait for something other than Options.For.
var ErrOther = errors.New("spool_of_another: the queue belongs to another store")

// claim stores what the records are for, so that no other store gets them. An empty spool can be
// claimed for anything.
func (s *Spool) claim() error {
	if s.o.For == "" {
		return nil
	}
	name := filepath.Join(s.dir, "FOR")
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("spool: %w", err)
	}
	was := strings.TrimSpace(string(b))
	if was == s.o.For {
		return nil
	}
	if was != "" && s.Waiting() {
		return fmt.Errorf("%w: it has %d records for %s, but this is %s; start with the former until the queue is empty, or use another directory; if both are the same store, delete %s",
			ErrOther, s.waiting.Load(), was, s.o.For, name)
	}
	if err := writeSynced(name+".new", s.o.For+"\n"); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := errors.Join(os.Rename(name+".new", name), syncDir(s.dir)); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

func writeSynced(name, text string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// Left returns how many records wait in a directory that will not be used, and what they are for.
// It returns 0 if the directory does not exist, or if another process has it open and takes care of
// it.
func Left(dir string) (records int64, what string, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil || len(names) == 0 {
		return 0, "", err
	}
	s, err := Open(dir, Options{})
	if errors.Is(err, ErrInUse) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", err
	}
	b, err := os.ReadFile(filepath.Join(dir, "FOR"))
	if errors.Is(err, fs.ErrNotExist) { // written by an older version
		err = nil
	}
	return s.waiting.Load(), strings.TrimSpace(string(b)), errors.Join(err, s.Close())
}
