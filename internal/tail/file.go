package tail

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/onefold/onefold/internal/backoff"
)

// MaxLine is the maximum length of a line in bytes.
const MaxLine = 1 << 20

const (
	linesOfBatch = 2048
	readBytes    = 256 << 10
)

// Options configure a File.
type Options struct {
	Path string
	From Position                    // where an earlier File stopped; default: the beginning of the existing file
	Wait func(context.Context) error // returns when to check the file again; default: after a quarter of a second
}

// File follows a file. It must be used by one goroutine only.
type File struct {
	o Options

	f       *os.File
	at      Position // after the last line that was returned
	number  int64    // of that line
	until   int64    // lines up to this offset were returned by an earlier File
	fresh   bool     // no line of this file was returned yet
	buffer  []byte   // read, but not returned yet
	tooLong bool     // the line at the start of the buffer is skipped up to its end
	next    string   // the file to open next; "": the one with the name
	left    bool     // the name belongs to another file now, and this one has been read to its end
	ended   bool     // an ending was added to the last line
}

// Open begins to follow a file, which need not exist yet.
func Open(o Options) *File {
	if o.Wait == nil {
		o.Wait = wait
	}
	return &File{o: o}
}

// pollEvery is the polling interval. Polling works on every file system, and costs a stat.
const pollEvery = 250 * time.Millisecond

func wait(ctx context.Context) error { return backoff.For(ctx, pollEvery) }

// Line is one line without its ending.
type Line struct {
	Number  int64 // in its file, from 1
	Text    []byte
	TooLong bool // it had more than MaxLine bytes, and has no text
}

// Batch is a number of lines of one file.
type Batch struct {
	Lines []Line   // valid until the next call of Next
	First bool     // they are the first of the file
	Old   bool     // they precede Options.From: an earlier File returned them
	Lost  bool     // the file of Options.From is gone: what was written to it since then was not read
	End   Position // after the last line
}

// Next waits for lines and returns at least one. A line without an ending is returned once nothing
// can be added to it, because the file has a successor. Errors: those of ctx, and of the file
// system, except that the file does not exist.
func (t *File) Next(ctx context.Context) (Batch, error) {
	lost := false
	for {
		if err := ctx.Err(); err != nil {
			return Batch{}, err
		}
		if t.f == nil {
			missing, err := t.open()
			if err != nil {
				return Batch{}, err
			}
			lost = lost || missing
		}
		if t.f != nil {
			b, err := t.take()
			if err != nil || len(b.Lines) > 0 {
				b.Lost = lost
				return b, err
			}
			again, err := t.atEnd()
			if err != nil {
				return Batch{}, err
			}
			if again {
				continue
			}
		}
		if err := t.o.Wait(ctx); err != nil {
			return Batch{}, err
		}
	}
}

// Close closes the file.
func (t *File) Close() error {
	if t.f == nil {
		return nil
	}
	err := t.f.Close()
	t.f = nil
	return err
}

// open opens the file to read next: that of Options.From under whatever name it has now, otherwise
// the existing file. lost reports that the former is gone.
func (t *File) open() (lost bool, err error) {
	from := t.o.From
	t.o.From = Position{}
	if from.Inode != 0 {
		found, err := t.find(&from)
		if err != nil || found != nil {
			return false, t.begin(found, from.Offset, err)
		}
		lost = true
	}
	path := cmp.Or(t.next, t.o.Path)
	t.next = ""
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lost, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return lost, fmt.Errorf("follow %s: it is not a regular file", t.o.Path)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lost, nil
	}
	return lost, t.begin(f, 0, err)
}

func (t *File) begin(f *os.File, until int64, err error) error {
	if err != nil {
		return fmt.Errorf("follow %s: %w", t.o.Path, err)
	}
	t.f, t.until, t.left = f, until, false
	t.restart()
	if err := t.at.identify(f); err != nil {
		return errors.Join(fmt.Errorf("follow %s: %w", t.o.Path, err), t.Close())
	}
	return nil
}

// restart returns to the beginning of the open file.
func (t *File) restart() {
	t.at.Offset, t.at.Head, t.at.Sum = 0, 0, 0
	t.number, t.fresh, t.buffer, t.tooLong, t.ended = 0, true, t.buffer[:0], false, false
}

// take returns the next complete lines of the open file, or none at its end.
func (t *File) take() (Batch, error) {
	for {
		if b := t.cut(); len(b.Lines) > 0 {
			return b, t.sum(&b)
		}
		if len(t.buffer) > MaxLine { // without a line ending
			t.at.Offset += int64(len(t.buffer))
			t.buffer, t.tooLong = t.buffer[:0], true
		}
		start := len(t.buffer)
		t.buffer = append(t.buffer, make([]byte, readBytes)...)
		n, err := t.f.ReadAt(t.buffer[start:], t.at.Offset+int64(start))
		t.buffer = t.buffer[:start+n]
		if n == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return Batch{}, fmt.Errorf("follow %s: %w", t.o.Path, err)
			}
			return Batch{}, nil
		}
		t.left = false
		if _, err := t.truncated(); err != nil { // and written to again: the data read before is not the start of what follows
			return Batch{}, err
		}
	}
}

// truncated returns to the beginning of a file that was truncated since it was read.
func (t *File) truncated() (bool, error) {
	same, err := t.at.isOf(t.f)
	if err != nil {
		return false, fmt.Errorf("follow %s: %w", t.o.Path, err)
	}
	if !same {
		t.until = 0
		t.restart()
	}
	return !same, nil
}

// cut removes complete lines from the buffer. Lines of an earlier File and new ones are in separate
// batches.
func (t *File) cut() Batch {
	b := Batch{First: t.fresh, Old: t.at.Offset < t.until}
	rest := t.buffer
	for len(b.Lines) < linesOfBatch && (t.at.Offset < t.until) == b.Old {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		b.Lines = append(b.Lines, t.line(rest[:end]))
		t.at.Offset += int64(end) + 1
		rest = rest[end+1:]
	}
	if len(b.Lines) > 0 {
		t.fresh = false
		t.buffer = append(make([]byte, 0, len(rest)+readBytes), rest...) // the lines keep the old array
	}
	return b
}

func (t *File) line(text []byte) Line {
	t.number++
	l := Line{Number: t.number, Text: bytes.TrimSuffix(text, []byte{'\r'}), TooLong: t.tooLong || len(text) > MaxLine}
	if l.TooLong {
		l.Text = nil
	}
	t.tooLong = false
	return l
}

// sum sets the position at the end of a batch, with the checksum of the file's beginning.
func (t *File) sum(b *Batch) (err error) {
	if t.at.Head < headBytes {
		t.at.Sum, t.at.Head, err = sumHead(t.f, t.at.Offset)
	}
	b.End = t.at
	if t.ended && len(t.buffer) == 0 {
		b.End.Offset--
	}
	if err != nil {
		return fmt.Errorf("follow %s: %w", t.o.Path, err)
	}
	return nil
}

// atEnd checks what became of the file after all of it was read. again reports that there may be
// more to read at once.
func (t *File) atEnd() (again bool, err error) {
	now, err := os.Stat(t.o.Path)
	if errors.Is(err, fs.ErrNotExist) { // renamed, and not recreated yet
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("follow %s: %w", t.o.Path, err)
	}
	if device, inode := identity(now); device == t.at.Device && inode == t.at.Inode {
		t.left = false
		return t.truncated()
	}
	if now.Size() == 0 { // the writer may still use the old file
		return false, nil
	}
	if !t.left {
		t.left = true
		return false, nil
	}
	return true, t.leave()
}

// leave finishes a file that has a successor. Text after its last line ending counts as a line.
func (t *File) leave() (err error) {
	if len(t.buffer) > 0 {
		t.buffer, t.ended = append(t.buffer, '\n'), true
		return nil
	}
	t.next, err = t.successor()
	return errors.Join(err, t.Close())
}
