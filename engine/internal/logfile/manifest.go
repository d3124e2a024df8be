package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// Manifest is the content of a store's manifest.
type Manifest struct {
	Tables map[uint64]Bounds // the row files of the store, by number
	Log    uint64            // the first log whose records are needed
	Cut    bool              // it ends with an unreadable record, which may be interrupted or damaged
}

// Bounds are the smallest and greatest key in a file.
type Bounds struct{ Least, Greatest []byte }

// Tags in the records of a manifest; see VersionEdit in Pebble's internal/manifest, which cannot be
// imported.
const (
	tagComparer       = 1
	tagLog            = 2
	tagNextFile       = 3
	tagLastSequence   = 4
	tagCompactPointer = 5
	tagDeletedTable   = 6
	tagNewTable       = 103
	tagNewTableRanges = 104

	detailsEnd     = 1
	detailsUnknown = 1 << 6 // from here on, unknown details cannot be ignored
	trailerBytes   = 8      // trailer of a key in bounds
)

// ErrManifest is returned if a manifest is damaged or contains unknown data.
var ErrManifest = errors.New("logfile: the manifest is damaged or has unknown contents")

// ReadManifest reads the current manifest of a store. It omits an unreadable record at the end,
// which may be an interrupted write. Errors: ErrManifest, and those of the file system.
func ReadManifest(fs vfs.FS, dir string) (m Manifest, name string, err error) {
	if name, err = atomicfs.ReadMarker(fs, dir, "manifest"); err != nil {
		return m, name, err
	}
	f, err := fs.Open(fs.PathJoin(dir, name))
	if err != nil {
		return m, name, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return m, name, err
	}
	m.Tables = map[uint64]Bounds{}
	lost, err := Read(f, info.Size(), 0, m.apply)
	if err == nil && slices.ContainsFunc(lost, func(s Span) bool { return s.Damaged }) {
		err = ErrManifest
	}
	m.Cut = len(lost) > 0
	return m, name, err
}

// apply applies one record.
func (m *Manifest) apply(rec []byte) error {
	p := parts{in: bytes.NewReader(rec)}
	for p.in.Len() > 0 && p.err == nil {
		switch p.number() {
		case tagComparer:
			p.bytes()
		case tagLog:
			m.Log = p.number()
		case tagNextFile, tagLastSequence:
			p.number()
		case tagCompactPointer:
			p.number()
			p.bytes()
		case tagDeletedTable:
			p.number()
			delete(m.Tables, p.number())
		case tagNewTable:
			p.number()
			number := p.number()
			p.number() // size
			b := Bounds{p.key(), p.key()}
			p.details()
			m.Tables[number] = b
		default: // the engine does not make files with range keys or virtual files
			p.err = ErrManifest
		}
	}
	return p.err
}

// parts reads the parts of a record.
type parts struct {
	in  *bytes.Reader
	err error
}

func (p *parts) number() uint64 {
	n, err := binary.ReadUvarint(p.in)
	p.fail(err)
	return n
}

func (p *parts) bytes() []byte {
	n := p.number()
	if p.err != nil || n > uint64(p.in.Len()) {
		p.fail(ErrManifest)
		return nil
	}
	b := make([]byte, n)
	_, err := io.ReadFull(p.in, b)
	p.fail(err)
	return b
}

func (p *parts) key() []byte {
	b := p.bytes()
	if len(b) < trailerBytes {
		p.fail(ErrManifest)
		return nil
	}
	return b[:len(b)-trailerBytes]
}

// details skips the other details of a new file: its sequence numbers, then pairs of a tag and
// bytes.
func (p *parts) details() {
	p.number()
	p.number()
	for p.err == nil {
		tag := p.number()
		switch {
		case tag == detailsEnd:
			return
		case tag >= detailsUnknown:
			p.fail(ErrManifest)
		default:
			p.bytes()
		}
	}
}

func (p *parts) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}
