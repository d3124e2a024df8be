package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// load scans the existing segments. Nothing is appended to them any more.
func (s *Spool) load() error {
	names, err := filepath.Glob(filepath.Join(s.dir, "*.seg"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	at := s.readPosition()
	s.next = at.segment + 1 // a lower number would count as done
	for i, name := range names {
		number, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(name), ".seg"), 16, 64)
		if err != nil {
			continue // not ours
		}
		s.next = max(s.next, number+1)
		if number < at.segment {
			if err := os.Remove(name); err != nil {
				return err
			}
			continue
		}
		from := headBytes
		if number == at.segment {
			from = at.offset
		}
		if err := s.loadSegment(number, from, i == len(names)-1); err != nil {
			return err
		}
	}
	return nil
}

// loadSegment counts the waiting records of a segment from an offset on. It deletes a segment
// without any.
func (s *Spool) loadSegment(number uint64, from int64, last bool) error {
	b, err := os.ReadFile(s.path(number))
	if err != nil {
		return err
	}
	seg := &segment{number: number, end: int64(len(b))}
	if len(b) >= len(magic) && string(b[:len(magic)]) != magic && string(b[:len(family)]) == family {
		return fmt.Errorf("%w: %s", ErrVersion, s.path(number))
	}
	if len(b) < int(headBytes) || string(b[:len(magic)]) != magic {
		s.lose(int64(len(b)), last)
		return os.Rename(s.path(number), s.path(number)+".damaged")
	}
	copy(seg.salt[:], b[len(magic):])
	from = min(max(from, headBytes), seg.end)
	for rest := b[from:]; ; {
		f, ok := nextRecord(rest, &seg.salt)
		if !ok {
			s.lose(int64(len(rest)), last)
			break
		}
		s.lose(int64(f.skipped), false)
		if s.waiting.Load() == 0 {
			s.oldest = f.record.At
		}
		seg.records++
		s.waiting.Add(1)
		rest = rest[f.skipped+f.size:]
	}
	if seg.records == 0 {
		return os.Remove(s.path(number))
	}
	if len(s.segments) == 0 {
		s.at = from
	}
	s.segments = append(s.segments, seg)
	return nil
}

// lose counts bytes that are not valid records.
func (s *Spool) lose(n int64, tail bool) {
	if tail {
		s.stats.Torn += n
	} else {
		s.stats.Damaged += n
	}
}

// peekBytes is roughly how much is read at once.
const peekBytes = 4 << 20

// Peek returns the oldest records, at most most, and the position after them, for Done. It returns
// none if nothing waits.
func (s *Spool) Peek(most int) ([]Record, Position, error) {
	for {
		s.mu.Lock()
		if len(s.segments) == 0 {
			s.mu.Unlock()
			return nil, Position{}, nil
		}
		seg, at, more := *s.segments[0], s.at, len(s.segments) > 1
		s.mu.Unlock()
		records, pos, err := s.peek(&seg, at, most)
		if err == nil && len(records) > 0 {
			s.mu.Lock()
			s.oldest = records[0].At
			s.mu.Unlock()
		}
		if err != nil || len(records) > 0 {
			return records, pos, err
		}
		if !more { // all of it is done or damaged
			return nil, Position{}, s.Done(Position{segment: seg.number, offset: seg.end})
		}
		if err := s.Done(Position{segment: seg.number, offset: seg.end}); err != nil {
			return nil, Position{}, err
		}
	}
}

// peek reads records of a segment. It reads up to the segment's end only if the first read contains
// no whole record.
func (s *Spool) peek(seg *segment, at int64, most int) (records []Record, pos Position, err error) {
	f, err := os.Open(s.path(seg.number))
	if err != nil {
		return nil, pos, fmt.Errorf("spool: %w", err)
	}
	defer f.Close()
	pos = Position{segment: seg.number, offset: at}
	for size := min(peekBytes, seg.end-at); ; size = seg.end - at {
		b := make([]byte, size)
		if _, err := f.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return nil, pos, fmt.Errorf("spool: %w", err)
		}
		for len(records) < most {
			rest := b[pos.offset-at:]
			next, ok := nextRecord(rest, &seg.salt)
			if !ok || next.skipped > 0 && size < seg.end-at { // with the bytes that follow, it may turn out undamaged
				break
			}
			records = append(records, next.record)
			pos.offset += int64(next.skipped + next.size)
		}
		if len(records) > 0 || at+size >= seg.end {
			pos.records = len(records)
			return records, pos, nil
		}
	}
}

// Done marks everything up to a position as done. It is not returned again, except possibly after a
// crash.
func (s *Spool) Done(pos Position) error {
	free := s.writing.TryLock() // otherwise the last segment is being written to
	if free {
		defer s.writing.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.segments) == 0 || s.segments[0].number != pos.segment {
		return nil
	}
	seg := s.segments[0]
	n := int64(pos.records)
	if pos.offset >= seg.end {
		n = int64(seg.records) // including unreadable ones
	}
	seg.records -= int(n)
	s.stats.Done += int64(pos.records)
	s.waiting.Add(-n)
	s.at = pos.offset
	whole, last := pos.offset >= seg.end, len(s.segments) == 1
	if !whole || last && s.current != nil && !free {
		return s.writePosition(pos)
	}
	return s.dropFirst(last)
}

// dropFirst deletes the first segment. The caller holds mu, and also writing if it is the last
// segment, which may be written to.
func (s *Spool) dropFirst(last bool) error {
	seg := s.segments[0]
	s.segments, s.at = s.segments[1:], headBytes
	var err error
	if last && s.current != nil {
		err = s.current.Close()
		s.current = nil
	}
	return errors.Join(err, os.Remove(s.path(seg.number)))
}

// The position is stored as the number of the segment, the offset in it, and a checksum. The write
// is not synced: with an older position, more records are returned again, and with an unreadable
// one, all.
func (s *Spool) writePosition(pos Position) error {
	b := binary.BigEndian.AppendUint64(nil, pos.segment)
	b = binary.BigEndian.AppendUint64(b, uint64(pos.offset))
	b = binary.BigEndian.AppendUint32(b, sumOf(&[saltBytes]byte{}, b))
	name := filepath.Join(s.dir, "POSITION")
	if err := os.WriteFile(name+".new", b, 0o600); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

func (s *Spool) readPosition() (pos Position) {
	b, err := os.ReadFile(filepath.Join(s.dir, "POSITION"))
	if err != nil || len(b) != 20 || binary.BigEndian.Uint32(b[16:]) != sumOf(&[saltBytes]byte{}, b[:16]) {
		return pos
	}
	return Position{segment: binary.BigEndian.Uint64(b), offset: int64(binary.BigEndian.Uint64(b[8:]))}
}

// refusedBytes is the size at which a new file for records put aside is begun; one full file is
// kept.
const refusedBytes = 16 << 20

// refusedFile returns the path of the file for records put aside, one per line.
func (s *Spool) refusedFile() string { return filepath.Join(s.dir, "refused.jsonl") }

// moveToRejected stores records that no sink accepts, for people to inspect. Only the latest are kept,
// because there may be any number. They no longer count as waiting.
func (s *Spool) moveToRejected(bodies [][]byte) error {
	name := s.refusedFile()
	var text []byte
	for _, body := range bodies {
		text = append(append(text, body...), '\n')
	}
	if was, err := os.Stat(name); err == nil && was.Size() > 0 && was.Size()+int64(len(text)) > refusedBytes {
		if err := os.Rename(name, filepath.Join(s.dir, "refused.old.jsonl")); err != nil {
			return fmt.Errorf("spool: put aside: %w", err)
		}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("spool: put aside: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("spool: put aside: %w", err)
	}
	return nil
}
