package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/eventstore"
)

// Archive is a directory of segments. It is safe for concurrent use, also by several processes. mu
// protects the fields below it.
type Archive struct {
	dir string

	mu       sync.Mutex
	segments map[string]bool
	spans    map[eventstore.ID][]place // sorted by first number
}

// place locates a span.
type place struct {
	segment string
	Span
}

// Open opens or creates an archive. It reads the manifests and keeps them in memory: about 150
// bytes per aggregate and segment. Errors: ErrDamaged, eventstore.ErrInvalid for a format of a
// later program, those of the file system.
func Open(dir string) (*Archive, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	a := &Archive{dir: dir, segments: map[string]bool{}, spans: map[eventstore.ID][]place{}}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a, a.refresh()
}

// refresh reads new segments. mu must be held.
func (a *Archive) refresh() error {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	for _, d := range entries {
		if _, err := ulid.ParseStrict(d.Name()); err != nil || !d.IsDir() || a.segments[d.Name()] {
			continue
		}
		m, err := readManifest(a.dir, d.Name())
		if err != nil {
			return err
		}
		a.take(m)
	}
	return nil
}

// take adds a segment. mu must be held.
func (a *Archive) take(m *Manifest) {
	a.segments[m.Segment] = true
	for _, s := range m.Spans {
		id := s.aggregate()
		at, _ := slices.BinarySearchFunc(a.spans[id], s.From, func(p place, from int64) int { return int(min(max(p.From-from, -1), 1)) })
		a.spans[id] = slices.Insert(a.spans[id], at, place{m.Segment, s})
	}
}

// Has returns the last number up to which the archive has all events of an aggregate from the given
// number on; that number minus one if it has none.
func (a *Archive) Has(id eventstore.ID, from int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.spans[id] {
		if p.From <= from && p.To >= from {
			from = p.To + 1
		}
	}
	return from - 1
}

// find returns the span that contains an event. If there is none, it looks for new segments.
func (a *Archive) find(id eventstore.ID, seq int64) (place, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for again := range 2 {
		for _, p := range slices.Backward(a.spans[id]) {
			if p.From <= seq && seq <= p.To {
				return p, nil
			}
		}
		if again == 0 {
			if err := a.refresh(); err != nil {
				return place{}, err
			}
		}
	}
	return place{}, fmt.Errorf("%w: event %d of %s", eventstore.ErrTruncated, seq, id)
}

// Read yields the events of an aggregate in a range of numbers, inclusive, in order, as they were
// stored. It is an eventstore.Archived. Errors: eventstore.ErrTruncated for a missing event,
// ErrDamaged, those of the file system.
func (a *Archive) Read(ctx context.Context, id eventstore.ID, from, to int64) iter.Seq2[eventstore.Event, error] {
	return func(yield func(eventstore.Event, error) bool) {
		for from <= to {
			p, err := a.find(id, from)
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				err = a.readSpan(p, func(e *eventstore.Event) bool {
					if e.Seq < from {
						return true
					}
					from = e.Seq + 1
					return e.Seq <= to && yield(*e, nil)
				})
			}
			if errors.Is(err, errEnough) {
				return
			}
			if err != nil {
				yield(eventstore.Event{}, err)
				return
			}
		}
	}
}

// errEnough means that the caller has enough.
var errEnough = errors.New("enough")

// readSpan reads the events of a span, and checks that it is complete. The error is errEnough if do
// returned false.
func (a *Archive) readSpan(p place, do func(*eventstore.Event) bool) error {
	damaged := func(err error) error {
		return fmt.Errorf("%w: segment %s, %s from %d: %w", ErrDamaged, p.segment, p.aggregate(), p.From, err)
	}
	f, err := os.Open(filepath.Join(a.dir, p.segment, linesFile))
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	defer f.Close()
	z, err := zstd.NewReader(io.NewSectionReader(f, p.Offset, p.Bytes), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return damaged(err)
	}
	defer z.Close()
	lines, next := bufio.NewReaderSize(z, 64<<10), p.From
	for {
		b, err := readLine(lines)
		if errors.Is(err, io.EOF) && len(b) == 0 && next == p.To+1 {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		e, err := parseLine(b)
		if err == nil && (e.EventKey.ID != p.aggregate() || e.Seq != next) {
			err = fmt.Errorf("found event %d of %s instead of event %d", e.Seq, e.EventKey.ID, next)
		}
		if err != nil {
			return damaged(err)
		}
		if next++; !do(&e) {
			return errEnough
		}
	}
}

// maxLine exceeds the line of an event of 400 KB with its payload in base64 twice.
const maxLine = 2 << 20

func readLine(r *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := r.ReadSlice('\n')
		if all = append(all, part...); len(all) > maxLine {
			return nil, errors.New("a line is too long")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return all, err
		}
	}
}
