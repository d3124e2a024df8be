package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"filippo.io/age"
)

// Maker makes backups of a table at a place.
type Maker struct {
	Place      Place
	Table      string                                       // see TableID
	Recipients []age.Recipient                              // none: not encrypted
	Write      func(ctx context.Context, w io.Writer) error // writes the backup, as a tar stream
	Room       Room
}

// Make makes a backup that has the name of a moment, and is to take about as many bytes as need. After an error nothing of it is left;
// the file says how far it came. Errors: ErrFull, ErrExists, those of the place and of Write.
func (m *Maker) Make(ctx context.Context, at time.Time, need int64) (File, error) {
	f := File{Name: Name{Time: at.UTC().Truncate(time.Second), Table: m.Table, Encrypted: len(m.Recipients) > 0}}
	if err := m.Room.For(need); err != nil {
		return f, err
	}
	err := m.Place.Write(ctx, f.Name, func(w io.Writer) error {
		counted := &looking{w: w, room: m.Room}
		defer func() { f.Bytes = counted.bytes }()
		return Sealed(counted, m.Recipients, func(w io.Writer) error { return m.Write(ctx, w) })
	})
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return f, fmt.Errorf("%w: backup to %s: %w: free space, or use another disk", ErrFull, m.Place, err)
	case err != nil:
		return f, fmt.Errorf("backup to %s: %w", m.Place, err)
	}
	return f, nil
}

// Sealed seals what write writes.
func Sealed(w io.Writer, recipients []age.Recipient, write func(io.Writer) error) error {
	out, err := Seal(w, recipients)
	if err == nil {
		err = write(out)
	}
	if err != nil {
		return err
	}
	return out.Close()
}

// Prune deletes the backups of a table but the newest ones, so many with newest, which is one of them whatever its time.
func Prune(ctx context.Context, p Place, newest Name, keep int) (deleted []Name, err error) {
	files, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	left := keep - 1
	for i := len(files) - 1; i >= 0; i-- {
		n := files[i].Name
		if n.Table != newest.Table || n == newest {
			continue
		}
		if left--; left >= 0 {
			continue
		}
		if err := p.Delete(ctx, n); err != nil {
			return deleted, fmt.Errorf("delete %s: %w", n, err)
		}
		deleted = append(deleted, n)
	}
	return deleted, nil
}
