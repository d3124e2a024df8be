package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/eventstore"
)

// ErrDamaged is returned when a file of an archive is missing or does not match its manifest.
var ErrDamaged = errors.New("archive: damaged")

// The files of a segment.
const (
	linesFile    = "events.jsonl.zst"
	parquetFile  = "events.parquet"
	manifestFile = "manifest.json"
)

// format is the version of the file format. Other versions are rejected.
const format = 1

// Manifest describes a segment of an archive. A segment is a directory, and immutable.
type Manifest struct {
	Format  int       `json:"format"`
	Segment string    `json:"segment"` // name of its directory: a ULID
	MadeAt  time.Time `json:"madeAt"`
	Events  int64     `json:"events"`
	Files   []File    `json:"files"`
	Spans   []Span    `json:"spans"` // in the order of the lines
}

// File is a file of a segment.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Span is a range of consecutive events of one aggregate. Each span is a separate zstd frame.
type Span struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Offset int64  `json:"offset"` // of the frame in the file of lines
	Bytes  int64  `json:"bytes"`  // of the frame
}

func (s *Span) aggregate() eventstore.ID { return eventstore.ID{Type: s.Type, ID: s.ID} }

func (m *Manifest) file(name string) (File, bool) {
	for _, f := range m.Files {
		if f.Name == name {
			return f, true
		}
	}
	return File{}, false
}

// check validates a manifest.
func (m *Manifest) check(segment string) error {
	lines, ok := m.file(linesFile)
	switch {
	case m.Format != format:
		return fmt.Errorf("%w: segment %s has format %d: this program reads %d", eventstore.ErrInvalid, segment, m.Format, format)
	case m.Segment != segment || !ok:
		return fmt.Errorf("%w: the manifest in %s is of segment %q", ErrDamaged, segment, m.Segment)
	}
	for _, s := range m.Spans {
		if s.From < 1 || s.To < s.From || s.Offset < 0 || s.Bytes < 1 || s.Offset > lines.Bytes-s.Bytes {
			return fmt.Errorf("%w: segment %s: the span of %s from %d is not in its file", ErrDamaged, segment, s.aggregate(), s.From)
		}
	}
	return nil
}

func readManifest(dir, segment string) (*Manifest, error) {
	b, err := os.ReadFile(filepath.Join(dir, segment, manifestFile))
	if err != nil {
		return nil, fmt.Errorf("archive: segment %s: %w", segment, err)
	}
	m := &Manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%w: the manifest of segment %s: %w", ErrDamaged, segment, err)
	}
	return m, m.check(segment)
}
