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

// Maker writes backups of a table to a place.
type Maker struct {
	Place      Place
	Table      string                                       // see TableID
	Recipients []age.Recipient                              // none: no encryption
	Write      func(ctx context.Context, w io.Writer) error // writes the backup as a tar stream
	Room       Room
}

// Make writes a backup named after the time at, for which about need bytes must be free. After an
// error nothing of the backup remains; the returned File then holds the number of bytes written.
// Errors: ErrFull, ErrExists, those of the place and of Write.
func (m *Maker) Make(ctx context.Context, at time.Time, need int64) (File, error) {
	f := File{Name: Name{Time: at.UTC().Truncate(time.Second), Table: m.Table, Encrypted: len(m.Recipients) > 0}}
	if err := m.Room.For(need); err != nil {
		return f, err
	}
	err := m.Place.Write(ctx, f.Name, func(w io.Writer) error {
		counted := &inspection{w: w, room: m.Room}
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

// Sealed passes a writer to write that compresses and encrypts to w.
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

// Prune deletes all but the newest keep backups of a table. The backup newest is kept and counted
// whatever its time, in case the clock was wrong.
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
