package logimport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/onefold/onefold/internal/tail"
)

// Positions stores the position in a followed file, in a file of its own.
type Positions struct {
	Path string
}

// Load returns the saved position, or the zero position if there is none.
func (p *Positions) Load() (at tail.Position, err error) {
	text, err := os.ReadFile(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return at, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	if err != nil {
		return at, fmt.Errorf("bad_position: %s: %w; delete this file to read the log from its beginning; events stored less than 30 days ago are not counted twice", p.Path, err)
	}
	return at, nil
}

// Save stores a position durably, by replacing the file.
func (p *Positions) Save(at tail.Position) (err error) {
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	dir := filepath.Dir(p.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("save the position: %w", err)
	}
	f, err := os.CreateTemp(dir, ".position-*")
	if err != nil {
		return fmt.Errorf("save the position: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), p.Path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("save the position: %w", err), os.Remove(f.Name()))
	}
	return nil
}
