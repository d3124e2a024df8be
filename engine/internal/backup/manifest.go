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
	// ErrIncomplete is returned when a backup has no manifest: it was cut off, or is no backup.
	ErrIncomplete = errors.New("backup: no manifest; the backup was cut off, or this is none")
	// ErrDamaged is returned when the files of a backup are not those of its manifest.
	ErrDamaged = errors.New("backup: damaged")
	// ErrFormat is returned when a backup was made by a newer program.
	ErrFormat = errors.New("backup: made by a newer version")
	// ErrNotEmpty is returned when a directory that is to be filled holds something.
	ErrNotEmpty = errors.New("backup: directory is not empty")
)

// ManifestName is the file that makes a backup of a directory or tar stream. It is written last.
const ManifestName = "onefold-backup.json"

const (
	format   = 1
	maxFiles = 1 << 20

	// How long a manifest may be: what it says of tables, of which 40,000 fit with the longest names, and of each file. It takes some
	// times that of memory, which is why an archive cannot have a longer one than its files need.
	maxTablesBytes = 16 << 20
	maxFileBytes   = 400
)

// longest is how long the manifest of so many files may be.
func longest(files int) int { return maxTablesBytes + maxFileBytes*files }

// Manifest says what a backup holds.
type Manifest struct {
	Format int       `json:"format"` // of the backup
	Store  int       `json:"store"`  // of the rows in it: docs/format/engine.md
	Taken  time.Time `json:"taken"`  // it has every write that was acknowledged before
	Tables []Table   `json:"tables"`
	Files  []File    `json:"files"`
}

// Table is a table in a backup. The counts are for information.
type Table struct {
	Name  string `json:"name"`
	Items int64  `json:"items"`
	Bytes int64  `json:"bytes"` // by DynamoDB's rule
}

// File is a file of a backup.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  string `json:"crc32c"` // eight hexadecimal digits
}

// Bytes is the size of all files.
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
		return nil, fmt.Errorf("backup: the manifest of %d tables is longer than %d bytes, and could not be read again", len(m.Tables), longest(len(m.Files)))
	}
	return append(b, '\n'), nil
}

// readManifest reads the manifest of so many files and checks that it can be one.
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

// plainName is what a store calls its files. Nothing else is read or written, so no name leads out of a directory.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// check compares files with those of the manifest, in any order.
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

// sumText is a checksum as the manifest has it.
func sumText(sum uint32) string { return fmt.Sprintf("%08x", sum) }
