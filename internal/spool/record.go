package spool

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// A segment consists of a head and records:
//
//	head    "1fspool1" | salt, 8 random bytes
//	record  length of the body, 4 | kind, 1 | time in epoch milliseconds, 8 | CRC-32C of the body, 4 | CRC-32C of the 17 bytes before, 4 | body
//
// Numbers are big-endian. Both checksums include the salt first, so that no content of a body can
// be mistaken for a record.
const (
	family      = "1fspool"
	magic       = family + "1" // with the version of the format
	saltBytes   = 8
	headBytes   = int64(len(magic) + saltBytes)
	recordBytes = 21 // before the body
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(salt *[saltBytes]byte, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(salt[:], castagnoli), castagnoli, b)
}

func segmentHead(salt *[saltBytes]byte) []byte { return append([]byte(magic), salt[:]...) }

func appendRecord(buf []byte, salt *[saltBytes]byte, r *Record) []byte {
	start := len(buf)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(r.Body)))
	buf = append(buf, r.Kind)
	buf = binary.BigEndian.AppendUint64(buf, uint64(r.At.UnixMilli()))
	buf = binary.BigEndian.AppendUint32(buf, sumOf(salt, r.Body))
	buf = binary.BigEndian.AppendUint32(buf, sumOf(salt, buf[start:]))
	return append(buf, r.Body...)
}

// frame is the location of a record within bytes.
type frame struct {
	skipped int // bytes before it that are not a record
	size    int // including its head
	record  Record
}

// nextRecord finds the first record in b, the rest of a segment. Its body is a slice of b. Bytes
// that are not a record are skipped, so a damaged record loses only itself.
func nextRecord(b []byte, salt *[saltBytes]byte) (f frame, ok bool) {
	for ; f.skipped+recordBytes <= len(b); f.skipped++ {
		if r, size := recordAt(b[f.skipped:], salt); size > 0 {
			f.record, f.size = r, size
			return f, true
		}
	}
	return f, false
}

// recordAt parses the record at the beginning of b. The size is 0 if there is none.
func recordAt(b []byte, salt *[saltBytes]byte) (Record, int) {
	if len(b) < recordBytes {
		return Record{}, 0
	}
	n := int(binary.BigEndian.Uint32(b))
	if n > maxRecord || binary.BigEndian.Uint32(b[17:]) != sumOf(salt, b[:17]) || recordBytes+n > len(b) {
		return Record{}, 0
	}
	body := b[recordBytes : recordBytes+n]
	if binary.BigEndian.Uint32(b[13:]) != sumOf(salt, body) {
		return Record{}, 0
	}
	return Record{Kind: b[4], At: time.UnixMilli(int64(binary.BigEndian.Uint64(b[5:]))), Body: body}, recordBytes + n
}
