package spool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// write appends the records of several callers, with one sync.
func (s *Spool) write(_ context.Context, calls [][]Record) []error {
	s.writing.Lock()
	defer s.writing.Unlock()
	errs := make([]error, len(calls))
	seg, room, err := s.room()
	if err != nil {
		return s.refuse(calls, errs, err)
	}
	var buf []byte
	fits := make([]bool, len(calls))
	for i, records := range calls {
		before := len(buf)
		for n := range records {
			buf = appendRecord(buf, &seg.salt, &records[n])
		}
		if int64(len(buf)) > room {
			buf, errs[i] = buf[:before], ErrFull
			continue
		}
		fits[i] = true
	}
	if len(buf) > 0 {
		err = s.commit(seg, buf)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, records := range calls {
		if fits[i] && err == nil {
			s.appended(seg, records)
			continue
		}
		if fits[i] {
			errs[i] = err
		}
		s.stats.Refused += int64(len(records))
	}
	if err == nil && len(buf) > 0 {
		seg.end += int64(len(buf))
		select {
		case s.came <- struct{}{}:
		default:
		}
	}
	return errs
}

// refuse returns the same error for all calls.
func (s *Spool) refuse(calls [][]Record, errs []error, err error) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range calls {
		errs[i] = err
		s.stats.Refused += int64(len(calls[i]))
	}
	return errs
}

// appended counts records that are on disk. The caller holds mu.
func (s *Spool) appended(seg *segment, records []Record) {
	if s.waiting.Load() == 0 {
		s.oldest = records[0].At
	}
	seg.records += len(records)
	s.stats.Appended += int64(len(records))
	s.waiting.Add(int64(len(records)))
}

// room returns the segment to write to, if necessary a new one, and how many bytes fit.
func (s *Spool) room() (*segment, int64, error) {
	s.mu.Lock()
	closed, used := s.closed, s.bytes()
	var last *segment
	if len(s.segments) > 0 {
		last = s.segments[len(s.segments)-1]
	}
	s.mu.Unlock()
	if closed {
		return nil, 0, ErrClosed
	}
	if s.current != nil && last != nil && last.end >= s.o.SegmentBytes {
		err := s.current.Close()
		s.current = nil
		if err != nil {
			return nil, 0, fmt.Errorf("spool: %w", err)
		}
	}
	if s.current == nil {
		var err error
		if last, err = s.begin(); err != nil {
			return nil, 0, fmt.Errorf("spool: begin a segment: %w", err)
		}
		used += last.end
	}
	return last, s.o.MaxBytes - used, nil
}

// begin creates a segment, and syncs its name.
func (s *Spool) begin() (*segment, error) {
	seg := &segment{number: s.next, end: headBytes}
	s.next++               // even after an error, because the name may exist
	rand.Read(seg.salt[:]) //nolint:errcheck // never returns an error since Go 1.24
	f, err := s.o.create(s.path(seg.number))
	if err != nil {
		return nil, err
	}
	_, err = f.WriteAt(segmentHead(&seg.salt), 0)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = syncDir(s.dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(s.path(seg.number)))
	}
	s.current = f
	s.mu.Lock()
	s.segments = append(s.segments, seg)
	s.mu.Unlock()
	return seg, nil
}

// commit writes at the end of a segment. After an error it is unknown what is on disk, so nothing
// more is written to that segment.
func (s *Spool) commit(seg *segment, buf []byte) error {
	_, err := s.current.WriteAt(buf, seg.end)
	if err == nil {
		err = s.current.Sync()
	}
	if err == nil {
		return nil
	}
	err = errors.Join(err, s.current.Close())
	s.current = nil
	return fmt.Errorf("spool: %w", err)
}

func (s *Spool) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016x.seg", number))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
