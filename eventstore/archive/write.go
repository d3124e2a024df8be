package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/eventstore"
)

// WriteOptions configures Write.
type WriteOptions struct {
	NoParquet bool           // write JSON lines only
	Progress  func(Progress) // called after each aggregate
	Spans     int            // maximum spans per segment; default 20,000
	Bytes     int64          // maximum compressed bytes of lines per segment; default 256 MB
}

// Progress is the progress of Write.
type Progress struct {
	Aggregates int64 // aggregates processed
	Events     int64 // events written
	Segments   int   // completed segments
}

const (
	spanEvents  = 5000           // maximum events per frame
	partial     = ".partial-"    // prefix of a segment that is being written
	partialLife = 24 * time.Hour // age at which its writer must have died
)

// OfTypes yields the aggregates of some types, for Write.
func OfTypes(ctx context.Context, s *eventstore.Store, types ...string) iter.Seq2[eventstore.ID, error] {
	return func(yield func(eventstore.ID, error) bool) {
		for _, t := range types {
			for h, err := range eventstore.AggregatesOfType.All(ctx, s.Table(), eventstore.AggregatesIn{Type: t}) {
				if !yield(h.ID, err) || err != nil {
					return
				}
			}
		}
	}
}

// Write adds the events of aggregates that are not in the archive yet. Segments are written
// atomically and durably: after an error completed segments stay, and another call continues after
// them. Errors: those of the store and the file system.
func (a *Archive) Write(ctx context.Context, s *eventstore.Store, ids iter.Seq2[eventstore.ID, error], o WriteOptions) (p Progress, err error) {
	if o.Spans <= 0 {
		o.Spans = 20_000
	}
	if o.Bytes <= 0 {
		o.Bytes = 256 << 20
	}
	if err := a.sweep(s.Table().Now()); err != nil {
		return p, err
	}
	w := &writer{a: a, s: s, o: o}
	defer w.abandon()
	for id, err := range ids {
		if err == nil {
			err = w.aggregate(ctx, id)
		}
		if err != nil {
			return w.p, fmt.Errorf("archive: write: %w", err)
		}
		if w.p.Aggregates++; o.Progress != nil {
			o.Progress(w.p)
		}
	}
	if err := w.finish(); err != nil {
		return w.p, fmt.Errorf("archive: write: %w", err)
	}
	return w.p, nil
}

// sweep removes what crashed processes left.
func (a *Archive) sweep(now time.Time) error {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	for _, d := range entries {
		name, ok := strings.CutPrefix(d.Name(), partial)
		id, err := ulid.ParseStrict(name)
		if !ok || err != nil || now.Sub(ulid.Time(id.Time())) < partialLife {
			continue
		}
		if err := os.RemoveAll(filepath.Join(a.dir, d.Name())); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
	}
	return nil
}

// writer writes one segment after another.
type writer struct {
	a *Archive
	s *eventstore.Store
	o WriteOptions
	p Progress

	m       *Manifest // current segment; nil: none
	lines   *summed
	z       *zstd.Encoder
	parquet *parquetWriter
	line    []byte
}

// aggregate writes the new events of an aggregate.
func (w *writer) aggregate(ctx context.Context, id eventstore.ID) error {
	from := w.a.Has(id, 1) + 1
	var span *Span
	for e, err := range w.s.Read(ctx, id, eventstore.From(from), eventstore.AsStored(), eventstore.Verified()) {
		if err != nil {
			return err
		}
		if span != nil && e.Seq-span.From == spanEvents {
			if err := w.endSpan(span); err != nil {
				return err
			}
			span = nil
		}
		if span == nil {
			if span, err = w.beginSpan(&e); err != nil {
				return err
			}
		}
		if err := w.event(&e); err != nil {
			return err
		}
		span.To = e.Seq
	}
	if span == nil {
		return nil
	}
	return w.endSpan(span)
}

func (w *writer) event(e *eventstore.Event) (err error) {
	if w.line, err = appendLine(w.line[:0], e); err != nil {
		return err
	}
	if _, err := w.z.Write(w.line); err != nil {
		return err
	}
	w.m.Events++
	w.p.Events++
	if w.parquet == nil {
		return nil
	}
	return w.parquet.event(e)
}

// beginSpan starts a frame, and if necessary a segment.
func (w *writer) beginSpan(e *eventstore.Event) (*Span, error) {
	if w.m == nil {
		if err := w.begin(); err != nil {
			return nil, err
		}
	}
	w.z.Reset(w.lines)
	return &Span{Type: e.Type, ID: e.EventKey.ID.ID, From: e.Seq, Offset: w.lines.n}, nil
}

func (w *writer) endSpan(span *Span) error {
	if err := w.z.Close(); err != nil {
		return err
	}
	span.Bytes = w.lines.n - span.Offset
	if w.m.Spans = append(w.m.Spans, *span); len(w.m.Spans) < w.o.Spans && w.lines.n < w.o.Bytes {
		return nil
	}
	return w.finish()
}

func (w *writer) path(name string) string {
	return filepath.Join(w.a.dir, partial+w.m.Segment, name)
}

// begin starts a segment.
func (w *writer) begin() error {
	now := w.s.Table().Now().UTC()
	id, err := ulid.New(ulid.Timestamp(now), ulid.DefaultEntropy())
	if err != nil {
		return err
	}
	w.m = &Manifest{Format: format, Segment: id.String(), MadeAt: now}
	if err := os.Mkdir(filepath.Join(w.a.dir, partial+w.m.Segment), 0o750); err != nil {
		return err
	}
	if w.lines, err = create(w.path(linesFile)); err != nil {
		return err
	}
	if w.z, err = zstd.NewWriter(w.lines, zstd.WithEncoderConcurrency(1)); err != nil {
		return err
	}
	if w.o.NoParquet {
		return nil
	}
	w.parquet, err = newParquet(w.path(parquetFile))
	return err
}

// finish makes the current segment durable, then visible.
func (w *writer) finish() error {
	if w.m == nil {
		return nil
	}
	files := []*summed{w.lines}
	if w.parquet != nil {
		if err := w.parquet.Close(); err != nil {
			return err
		}
		files = append(files, w.parquet.file)
	}
	for _, f := range files {
		if err := f.finish(); err != nil {
			return err
		}
		w.m.Files = append(w.m.Files, File{Name: filepath.Base(f.Name()), Bytes: f.n, SHA256: hex.EncodeToString(f.sum.Sum(nil))})
	}
	if err := w.publish(); err != nil {
		return err
	}
	w.a.mu.Lock()
	w.a.take(w.m)
	w.a.mu.Unlock()
	w.m, w.lines, w.parquet = nil, nil, nil
	w.p.Segments++
	return nil
}

// publish writes the manifest and renames the segment's directory. Files and directories are synced
// first, so that a visible segment is complete.
func (w *writer) publish() error {
	text, err := json.MarshalIndent(w.m, "", "\t")
	if err != nil {
		return err
	}
	manifest, err := create(w.path(manifestFile))
	if err != nil {
		return err
	}
	if _, err := manifest.Write(append(text, '\n')); err != nil {
		return errors.Join(err, manifest.Close())
	}
	if err := manifest.finish(); err != nil {
		return err
	}
	if err := syncDir(w.path("")); err != nil {
		return err
	}
	if err := os.Rename(w.path(""), filepath.Join(w.a.dir, w.m.Segment)); err != nil {
		return err
	}
	return syncDir(w.a.dir)
}

// abandon removes the current segment. Anything that cannot be removed now is swept later.
func (w *writer) abandon() {
	if w.m == nil {
		return
	}
	if w.lines != nil {
		_ = w.lines.Close()
	}
	if w.parquet != nil {
		_ = w.parquet.file.Close()
	}
	_ = os.RemoveAll(w.path(""))
}

// summed is a file with a running size and checksum.
type summed struct {
	*os.File
	sum hash.Hash
	n   int64
}

func create(name string) (*summed, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	return &summed{File: f, sum: sha256.New()}, err
}

func (s *summed) Write(b []byte) (int, error) {
	n, err := s.File.Write(b)
	s.sum.Write(b[:n])
	s.n += int64(n)
	return n, err
}

// ReadFrom prevents io.Copy from using the file's ReadFrom, which would bypass the checksum.
func (s *summed) ReadFrom(r io.Reader) (int64, error) { return io.Copy(struct{ io.Writer }{s}, r) }

// finish syncs and closes the file.
func (s *summed) finish() error {
	if err := s.Sync(); err != nil {
		return errors.Join(err, s.Close())
	}
	return s.Close()
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
