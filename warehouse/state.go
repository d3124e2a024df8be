package warehouse

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// state is the result of applying the entries of the log.
type state struct {
	Format    int                 `json:"format"`
	Version   int64               `json:"version"` // version of the last entry; 0 means none
	At        time.Time           `json:"at"`
	Source    string              `json:"source,omitempty"`
	Read      time.Time           `json:"read,omitzero"` // when progress was last committed
	Positions map[string]Position `json:"positions,omitempty"`
	Repair    *Repair             `json:"repair,omitempty"`
	Missed    []Gap               `json:"missed,omitempty"` // only the most recent ones
	Skipped   int64               `json:"skipped,omitempty"`
	Checks    []check             `json:"checks,omitempty"` // the checkpoints that are kept, by version
	List      []File              `json:"files"`            // the files as written in a checkpoint; see files

	files map[string]File
	parts map[Partition]map[string]bool
}

// check is a checkpoint.
type check struct {
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
}

func newState() *state {
	return &state{Format: logFormat, Positions: map[string]Position{}, files: map[string]File{}, parts: map[Partition]map[string]bool{}}
}

// apply applies the next entry.
func (s *state) apply(e *Entry) error {
	if e.Version != s.Version+1 {
		return fmt.Errorf("%w: entry %d of the log follows %d", ErrDamaged, e.Version, s.Version)
	}
	for _, path := range e.Remove {
		f, ok := s.files[path]
		if !ok {
			return fmt.Errorf("%w: entry %d of the log removes %s, which does not exist", ErrDamaged, e.Version, path)
		}
		delete(s.files, path)
		delete(s.parts[f.Partition], path)
		if len(s.parts[f.Partition]) == 0 {
			delete(s.parts, f.Partition)
		}
	}
	for _, f := range e.Add {
		if _, ok := s.files[f.Path]; ok {
			return fmt.Errorf("%w: entry %d of the log adds %s again", ErrDamaged, e.Version, f.Path)
		}
		s.add(f)
	}
	s.Version, s.At = e.Version, e.At
	s.progress(e)
	return nil
}

func (s *state) add(f File) {
	s.files[f.Path] = f
	if s.parts[f.Partition] == nil {
		s.parts[f.Partition] = map[string]bool{}
	}
	s.parts[f.Partition][f.Path] = true
}

// progress applies the reading progress of an entry.
func (s *state) progress(e *Entry) {
	if e.progress() {
		s.Read = e.At
	}
	if e.Source != "" && e.Source != s.Source {
		s.Source, s.Positions = e.Source, map[string]Position{}
	}
	maps.Copy(s.Positions, e.Positions)
	for _, shard := range e.Forget {
		delete(s.Positions, shard)
	}
	s.Missed = append(s.Missed, e.Missed...)
	s.Missed = s.Missed[max(len(s.Missed)-keepMissed, 0):]
	s.Skipped += e.Skipped
	switch {
	case e.Repaired:
		s.Repair = nil
	case e.Repair != nil:
		r := *e.Repair
		s.Repair = &r
	}
}

// encode returns the state as a checkpoint.
func (s *state) encode() ([]byte, error) {
	s.List = s.sorted(func(File) bool { return true })
	b, err := json.Marshal(s)
	s.List = nil
	if err != nil {
		return nil, err
	}
	return compress(b)
}

func parseState(name string, b []byte) (*state, error) {
	s := newState()
	b, err := decompress(b)
	if err == nil {
		err = json.Unmarshal(b, s)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	if s.Format > logFormat {
		return nil, fmt.Errorf("%w: %s has format %d; this program reads format %d", ErrFormat, name, s.Format, logFormat)
	}
	if checkName(s.Version) != name {
		return nil, fmt.Errorf("%w: %s contains version %d", ErrDamaged, name, s.Version)
	}
	if err := placeFiles(s.List); err != nil {
		return nil, err
	}
	for _, f := range s.List {
		s.add(f)
	}
	s.List = nil
	if s.Positions == nil {
		s.Positions = map[string]Position{}
	}
	return s, nil
}

// sorted returns the files that want accepts, ordered by partition and time.
func (s *state) sorted(want func(File) bool) []File {
	var all []File
	for _, f := range s.files {
		if want(f) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, compareFiles)
	return all
}

func compareFiles(a, b File) int {
	if c := a.Partition.Compare(b.Partition); c != 0 {
		return c
	}
	if c := int(min(max(a.Min-b.Min, -1), 1)); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}
