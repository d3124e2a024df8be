package logfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Span is a range of a file that cannot be read.
type Span struct {
	From, To int64
	Damaged  bool // the bytes had been on disk; otherwise they may belong to a write interrupted by a crash or power loss
	Closed   bool // the log was closed after them: if the final sync succeeded, as a later log shows, they had been on disk
}

// String returns the range of bytes as text.
func (s Span) String() string { return fmt.Sprintf("bytes %d to %d", s.From, s.To) }

// blockSize is the size of a block. Chunks do not cross block boundaries.
const blockSize = 32 << 10

// A chunk is a record or a part of one. Its header contains a checksum, a size and a type; in logs
// also the log's number, because a reused file still contains chunks of an older log. The third
// form also records how much of the log was on disk:
//
//	manifest  checksum 4 | size 2 | type 1 |                       payload
//	log       checksum 4 | size 2 | type 1 | log 4 |               payload
//	log       checksum 4 | size 2 | type 1 | log 4 | synced bytes 8 | payload
//
// Numbers are little-endian. The size is that of the payload; the checksum covers everything from the
// type on. The type is 1 to 4 for the parts below in the first form, 5 to 8 in the second, 9 to 12 in
// the third. The rest of a block that is too short for a header is zeros.
//
// The synced bytes decide what a hole means. A hole below a position that a later chunk calls synced
// had been acknowledged, so it is damage. A hole at the end may be a write that a crash interrupted.
const (
	chunkFull   = 1
	chunkFirst  = 2
	chunkMiddle = 3
	chunkLast   = 4

	chunkForms  = 3 // of each type
	plainHeader = 4 + 2 + 1
	logHeader   = plainHeader + 4
	syncHeader  = logHeader + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// state classifies bytes at a position.
type state int

const (
	broken state = iota // not a chunk
	whole               // a chunk of this file
	older               // a chunk of an older log in the same file
	end                 // the end that Pebble writes when it closes a log
)

// chunk is a parsed chunk.
type chunk struct {
	state
	part    int
	payload []byte
	size    int   // including its header
	synced  int64 // how much of the log was on disk, if recorded
}

// reader reads the records of a file in sequence.
type reader struct {
	file   io.ReaderAt
	size   int64
	number uint64
	fn     func(record []byte) error

	record []byte
	inside bool // inside a record whose first chunks are in record
	ended  bool // chunks of an older log follow
	lost   []Span
}

// Read calls fn with every readable record of the log with the given number, or of a manifest if
// number is 0. It returns the ranges that cannot be read. Errors are those of fn.
func Read(file io.ReaderAt, size int64, number uint64, fn func(record []byte) error) ([]Span, error) {
	r := &reader{file: file, size: size, number: number, fn: fn}
	for base := int64(0); base < size && !r.ended; base += blockSize {
		block := make([]byte, min(blockSize, size-base))
		if _, err := file.ReadAt(block, base); err != nil && !errors.Is(err, io.EOF) {
			r.lose(base, base+int64(len(block)))
			r.lost[len(r.lost)-1].Damaged = true
			continue
		}
		if err := r.block(block, base); err != nil {
			return r.lost, err
		}
	}
	return r.lost, nil
}

// block reads one block of the file.
func (r *reader) block(b []byte, base int64) error {
	for at := 0; at < len(b) && !r.ended; {
		c := r.parse(b[at:])
		switch {
		case c.state == whole:
			r.promise(c.synced)
			if err := r.take(c, base+int64(at)); err != nil {
				return err
			}
			at += c.size
		case c.state == older:
			r.ended = true
			if n := len(r.lost); n > 0 && !r.lost[n-1].Damaged {
				r.lost = r.lost[:n-1] // garbage between chunks of the older log
			}
		case c.state == end:
			r.ended = true
			for i := range r.lost {
				r.lost[i].Closed = true
			}
		case isZero(b[at:]): // the end of the block or log
			return nil
		default:
			next := r.resume(b, at+1)
			r.lose(base+int64(at), base+int64(next))
			at = next
		}
	}
	return nil
}

// parse parses a chunk.
func (r *reader) parse(b []byte) (c chunk) {
	if len(b) < plainHeader || b[6] == 0 || int(b[6]) > chunkForms*chunkLast {
		return c
	}
	form := int(b[6]-1) / chunkLast
	header := []int{plainHeader, logHeader, syncHeader}[form]
	c.part, c.size = int(b[6]-1)%chunkLast+1, header+int(binary.LittleEndian.Uint16(b[4:]))
	if c.size > len(b) || (form == 0) != (r.number == 0) {
		return c
	}
	if c.size == logHeader && form == 1 && binary.LittleEndian.Uint32(b[plainHeader:]) == uint32(r.number)+1 {
		c.state = end
		return c
	}
	sum := crc32.Checksum(b[6:c.size], castagnoli)
	if binary.LittleEndian.Uint32(b) != (sum>>15|sum<<17)+0xa282ead8 { // as in Pebble's internal/crc
		return c
	}
	c.state, c.payload = whole, b[header:c.size]
	if form > 0 && binary.LittleEndian.Uint32(b[plainHeader:]) != uint32(r.number) {
		c.state = older
	}
	if form == 2 {
		c.synced = int64(binary.LittleEndian.Uint64(b[logHeader:]))
	}
	return c
}

// promise records that the file was on disk up to a position. A manifest is synced with every
// record, so all of it was.
func (r *reader) promise(synced int64) {
	for i := range r.lost {
		r.lost[i].Damaged = r.lost[i].Damaged || r.number == 0 || r.lost[i].From < synced
	}
}

// take processes a chunk at a position.
func (r *reader) take(c chunk, at int64) error {
	switch {
	case c.part == chunkFull || c.part == chunkFirst:
		r.record, r.inside = append(r.record[:0], c.payload...), true
	case !r.inside:
		r.lose(at, at+int64(c.size)) // its beginning is lost
		return nil
	default:
		r.record = append(r.record, c.payload...)
	}
	if c.part == chunkFirst || c.part == chunkMiddle {
		return nil
	}
	r.inside = false
	return r.fn(r.record)
}

// resume returns the position of the next chunk in a block, or the end of the block.
func (r *reader) resume(b []byte, at int) int {
	for ; at < len(b); at++ {
		if r.parse(b[at:]).state != broken {
			break
		}
	}
	return at
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func (r *reader) lose(from, to int64) {
	r.inside = false
	if n := len(r.lost); n > 0 && r.lost[n-1].To == from {
		r.lost[n-1].To = to
		return
	}
	r.lost = append(r.lost, Span{From: from, To: to})
}
