package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/onefold/onefold/eventstore"
)

// Verify reads all files of all segments and compares them with their manifests: checksums, and the
// events of each span. The error joins one error per damaged segment: ErrDamaged, or those of the
// file system.
func (a *Archive) Verify(ctx context.Context) error {
	a.mu.Lock()
	err := a.refresh()
	names := make([]string, 0, len(a.segments))
	for name := range a.segments {
		names = append(names, name)
	}
	a.mu.Unlock()
	if err != nil {
		return err
	}
	slices.Sort(names)
	var found []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(found, err)...)
		}
		found = append(found, a.verify(name))
	}
	return errors.Join(found...)
}

func (a *Archive) verify(segment string) error {
	m, err := readManifest(a.dir, segment)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := a.verifyFile(m, f); err != nil {
			return err
		}
	}
	events := int64(0)
	for _, s := range m.Spans {
		if err := a.readSpan(place{segment, s}, func(*eventstore.Event) bool { events++; return true }); err != nil {
			return err
		}
	}
	if events != m.Events {
		return fmt.Errorf("%w: segment %s has %d events, its manifest says %d", ErrDamaged, segment, events, m.Events)
	}
	return nil
}

func (a *Archive) verifyFile(m *Manifest, f File) error {
	name := filepath.Join(a.dir, m.Segment, filepath.Base(f.Name))
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if have := hex.EncodeToString(sum.Sum(nil)); n != f.Bytes || have != f.SHA256 {
		return fmt.Errorf("%w: %s has %d bytes with the sum %s, its manifest says %d and %s", ErrDamaged, name, n, have, f.Bytes, f.SHA256)
	}
	if f.Name != parquetFile {
		return nil
	}
	p, err := parquet.OpenFile(file, n)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	if p.NumRows() != m.Events {
		return fmt.Errorf("%w: %s has %d rows, its manifest says %d", ErrDamaged, name, p.NumRows(), m.Events)
	}
	return nil
}
