package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"time"
)

var (
	// ErrIncomplete is returned if there is no manifest: the backup was interrupted, or it is not a
	// backup.
	ErrIncomplete = errors.New("backup: no manifest; the backup is incomplete, or this is not a backup")
	// ErrDamaged is returned if the files of a backup do not match its manifest.
	ErrDamaged = errors.New("backup: damaged")
	// ErrFormat is returned if a backup was made by a newer version.
	ErrFormat = errors.New("backup: made by a newer version")
	// ErrNotEmpty is returned if the directory to fill is not empty.
	ErrNotEmpty = errors.New("backup: directory is not empty")
)

// ManifestName is the name of the manifest. It is written last and makes a directory or tar stream
// a backup.
const ManifestName = "onefold-backup.json"

const (
	format   = 1
	maxFiles = 1 << 20

	// Maximum size of a manifest: for tables, of which 40,000 with the longest names fit, and per
	// file. Reading a manifest takes several times its size in memory, so the limit for an archive
	// depends on its number of files.
	maxTablesBytes = 16 << 20
	maxFileBytes   = 400
)

// longest returns the maximum size of a manifest for the given number of files.
func longest(files int) int { return maxTablesBytes + maxFileBytes*files }

// Manifest describes the contents of a backup.
type Manifest struct {
	Format int       `json:"format"` // version of the backup format
	Store  int       `json:"store"`  // version of the row format, see docs/format/engine.md
	Taken  time.Time `json:"taken"`  // the backup contains every write acknowledged before
	Tables []Table   `json:"tables"`
	Files  []File    `json:"files"`
}

// Table is a table in a backup. The counts are informational.
type Table struct {
	Name  string `json:"name"`
	Items int64  `json:"items"`
	Bytes int64  `json:"bytes"` // by DynamoDB's rule
}

// File is a file in a backup.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  string `json:"crc32c"` // eight hexadecimal digits
}

// Bytes returns the total size of the files.
func (m *Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

func (m *Manifest) encode() ([]byte, error) {
	m.Format = format
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("backup: encode manifest: %w", err)
	}
	if len(b) >= longest(len(m.Files)) {
		return nil, fmt.Errorf("backup: the manifest of %d tables is longer than %d bytes, the most that can be read back", len(m.Tables), longest(len(m.Files)))
	}
	return append(b, '\n'), nil
}

// readManifest reads and validates the manifest for the given number of files.
func readManifest(r io.Reader, files int) (*Manifest, error) {
	most := longest(files)
	b, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: the manifest was cut off", ErrDamaged)
	case err != nil:
		return nil, fmt.Errorf("backup: read manifest: %w", err)
	case len(b) > most:
		return nil, fmt.Errorf("%w: the manifest is longer than that of %d files can be", ErrDamaged, files)
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%w: manifest: %w", ErrDamaged, err)
	}
	if m.Format > format {
		return nil, ErrFormat
	}
	seen := map[string]bool{}
	for _, f := range m.Files {
		if !plainName.MatchString(f.Name) || f.Name == ManifestName || seen[f.Name] || f.Size < 0 {
			return nil, fmt.Errorf("%w: the manifest names a file %q", ErrDamaged, f.Name)
		}
		seen[f.Name] = true
	}
	return m, nil
}

// plainName matches the names of a store's files. Other names are rejected, so that no name can
// lead out of a directory.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// check compares files, in any order, with those in the manifest.
func (m *Manifest) check(got []File) error {
	byName := make(map[string]File, len(got))
	for _, f := range got {
		byName[f.Name] = f
	}
	for _, want := range m.Files {
		f, ok := byName[want.Name]
		switch {
		case !ok:
			return fmt.Errorf("%w: %s is missing", ErrDamaged, want.Name)
		case f.Size != want.Size:
			return fmt.Errorf("%w: %s has %d bytes, should have %d", ErrDamaged, f.Name, f.Size, want.Size)
		case f.Sum != want.Sum:
			return fmt.Errorf("%w: %s has checksum %s, should have %s", ErrDamaged, f.Name, f.Sum, want.Sum)
		}
		delete(byName, want.Name)
	}
	for name := range byName {
		return fmt.Errorf("%w: %s does not belong to it", ErrDamaged, name)
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumText formats a checksum as in the manifest.
func sumText(sum uint32) string { return fmt.Sprintf("%08x", sum) }
