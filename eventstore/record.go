package eventstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/internal/varint"
)

// ErrPage is returned when stored events cannot be decoded: they are damaged, or a newer version of
// this package wrote them.
var ErrPage = errors.New("eventstore: stored events cannot be decoded")

// Record holds the events that one append added to one aggregate, encoded. Heads and pages consist
// of records. An append of more than 300 KB has several. docs/format/eventstore.md describes the
// bytes:
//
//	record = format 1 | flags 1 | seq | count | nth | of | time | commit ID | digests | events | CRC-32C 4
//	event  = fields 1 | ID | type | schema | delay | shard | payload | optional fields
//
// A bare field is a varint, or a length and bytes. What the events of an append have in common is
// stored once: commit ID, time, and the type while it does not change. An event's own time is the
// difference from that of the append. Flags and fields say which optional parts follow; an unknown
// one makes a reader refuse the record, because it could not find what comes after it.
type Record []byte

// RecordInfo describes a record.
type RecordInfo struct {
	First      int64 // number of its first event
	N          int   // events in it
	Nth, Of    int   // index of its first event in the append; events of the append
	RecordedAt time.Time
	CommitID   string
	Named      bool   // the caller gave the commit ID
	Digest     []byte // as in Mark, for an append with a caller's commit ID in put mode
	Sealed     []byte
}

// Last returns the number of the last event.
func (i *RecordInfo) Last() int64 { return i.First + int64(i.N) - 1 }

const (
	recordFormat = 1
	sumBytes     = 4

	recordNamed    = 1 << 0
	recordDigested = 1 << 1
	recordSealed   = 1 << 2
)

// The optional fields of an event.
const (
	hasCorrelation = 1 << iota
	hasCausation
	hasActor
	hasTenant
	hasMetadata
	hasHash
	hasTags
	knownFields = 1<<iota - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// NewRecord encodes consecutive events of one append to an aggregate. Of info only Named, Digest and
// Sealed are used; the rest comes from the events. Event types are not empty.
func NewRecord(events []Event, info RecordInfo) Record {
	first := &events[0]
	flags := byte(0)
	for flag, is := range map[byte]bool{recordNamed: info.Named, recordDigested: len(info.Digest) > 0, recordSealed: len(info.Sealed) > 0} {
		if is {
			flags |= flag
		}
	}
	b := make([]byte, 0, recordBound(events))
	b = append(b, recordFormat, flags)
	b = binary.AppendUvarint(b, uint64(first.Seq))
	b = binary.AppendUvarint(b, uint64(len(events)))
	b = binary.AppendUvarint(b, uint64(first.Nth))
	b = binary.AppendUvarint(b, uint64(first.Of))
	b = binary.AppendVarint(b, first.RecordedAt.UnixMilli())
	b = appendName(b, first.CommitID)
	for _, sum := range [][]byte{info.Digest, info.Sealed} {
		if len(sum) > 0 {
			b = appendBytes(b, sum)
		}
	}
	eventType := ""
	for i := range events {
		b = appendEvent(b, &events[i], eventType)
		eventType = events[i].EventType
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// recordBound returns a size that a record of the events does not exceed.
func recordBound(events []Event) int {
	n := 128 + maxCommitID
	for i := range events {
		n += eventBound(&events[i])
	}
	return n
}

func eventBound(e *Event) int {
	n := 64 + len(e.EventID) + len(e.EventType) + len(e.Payload) + len(e.Correlation) + len(e.Causation) + len(e.Actor) + len(e.Tenant) + len(e.Hash)
	for _, tag := range e.Tags {
		n += binary.MaxVarintLen32 + len(tag)
	}
	for name, value := range e.Metadata {
		n += 2*binary.MaxVarintLen32 + len(name) + len(value)
	}
	return n
}

// appendEvent appends an event. The type is omitted if the event before has the same.
func appendEvent(b []byte, e *Event, typeBefore string) []byte {
	fields, at := byte(0), len(b)
	b = append(b, 0)
	b = appendName(b, e.EventID)
	if e.EventType == typeBefore {
		b = append(b, 0)
	} else {
		b = appendBytes(b, []byte(e.EventType))
	}
	b = binary.AppendUvarint(b, uint64(e.Schema))
	b = binary.AppendVarint(b, e.OccurredAt.UnixMilli()-e.RecordedAt.UnixMilli())
	b = binary.AppendUvarint(b, uint64(e.Shard))
	b = appendBytes(b, e.Payload)
	for i, text := range [...]string{e.Correlation, e.Causation, e.Actor, e.Tenant} {
		if text != "" {
			fields |= 1 << i
			b = binary.AppendUvarint(b, uint64(len(text)))
			b = append(b, text...)
		}
	}
	if len(e.Metadata) > 0 {
		fields |= hasMetadata
		b = binary.AppendUvarint(b, uint64(len(e.Metadata)))
		for _, name := range slices.Sorted(maps.Keys(e.Metadata)) {
			b = appendBytes(b, []byte(name))
			b = appendBytes(b, []byte(e.Metadata[name]))
		}
	}
	if len(e.Hash) > 0 {
		fields |= hasHash
		b = appendBytes(b, e.Hash)
	}
	if len(e.Tags) > 0 {
		fields |= hasTags
		b = binary.AppendUvarint(b, uint64(len(e.Tags)))
		for _, tag := range e.Tags {
			b = appendBytes(b, []byte(tag))
		}
	}
	b[at] = fields
	return b
}

func appendBytes(b, value []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

// appendName appends an ID: 0 and the 16 bytes of a ULID, or the length plus one and the text.
func appendName(b []byte, name string) []byte {
	if id, err := ulid.ParseStrict(name); err == nil && id.String() == name {
		return append(append(b, 0), id[:]...)
	}
	return append(binary.AppendUvarint(b, uint64(len(name))+1), name...)
}

// decoder reads the fields of a record.
type decoder struct{ varint.Reader }

// open verifies the checksum and reads the beginning of a record.
func (r Record) open(d *decoder) (info RecordInfo, err error) {
	if len(r) < 2+sumBytes {
		return info, fmt.Errorf("%w: %d bytes are too few", ErrPage, len(r))
	}
	if r[0] != recordFormat {
		return info, fmt.Errorf("%w: their format is %d", ErrPage, r[0])
	}
	content, sum := r[:len(r)-sumBytes], binary.BigEndian.Uint32(r[len(r)-sumBytes:])
	if crc32.Checksum(content, castagnoli) != sum {
		return info, fmt.Errorf("%w: their checksum is wrong", ErrPage)
	}
	flags := r[1]
	d.Reader = varint.NewReader(content[2:])
	first, n, nth, of := d.Uint(), d.Uint(), d.Uint(), d.Uint()
	at := d.Int()
	info = RecordInfo{First: int64(first), N: int(n), Nth: int(nth), Of: int(of), Named: flags&recordNamed != 0}
	info.CommitID = d.name("")
	if flags&recordDigested != 0 {
		info.Digest = slices.Clone(d.Bytes(d.Uint()))
	}
	if flags&recordSealed != 0 {
		info.Sealed = slices.Clone(d.Bytes(d.Uint()))
	}
	info.RecordedAt = d.time(at)
	switch {
	case d.Failed() || flags >= recordSealed<<1:
		return info, fmt.Errorf("%w: they do not begin like events", ErrPage)
	case of > maxOperations || n < 1 || nth > of || n > of-nth || first < 1 || first > EndOfStream-n:
		return info, fmt.Errorf("%w: they are %d to %d of %d, from event %d on", ErrPage, nth, nth+n, of, first)
	}
	return info, nil
}

// Info decodes the beginning of a record. Errors: ErrPage.
func (r Record) Info() (RecordInfo, error) {
	var d decoder
	return r.open(&d)
}

// Events appends the events of a record of an aggregate to a slice. They share no memory with the
// record. Errors: ErrPage.
func (r Record) Events(id ID, to []Event) ([]Event, error) { return slices.Clone(r).decode(id, to) }

// decode is Events for a record that is not used afterwards: payloads are slices of it.
func (r Record) decode(id ID, to []Event) ([]Event, error) {
	d := decoder{}
	info, err := r.open(&d)
	if err != nil {
		return to, err
	}
	before, eventType := len(to), ""
	to = slices.Grow(to, info.N)
	for i := range info.N {
		to = append(to, Event{
			EventKey: EventKey{id, info.First + int64(i)}, RecordedAt: info.RecordedAt, CommitID: info.CommitID, Nth: info.Nth + i, Of: info.Of,
		})
		e := &to[len(to)-1] // in place: events are large
		d.event(e, eventType)
		if d.Failed() {
			return to[:before], fmt.Errorf("%w: event %d", ErrPage, e.Seq)
		}
		eventType = e.EventType
	}
	if d.More() {
		return to[:before], fmt.Errorf("%w: bytes follow event %d", ErrPage, info.Last())
	}
	return to, nil
}

func (d *decoder) event(e *Event, typeBefore string) {
	fields := d.Bytes(1)
	if len(fields) == 0 || fields[0] > knownFields {
		d.Fail()
		return
	}
	e.EventID = d.name(e.CommitID)
	if name := d.Bytes(d.Uint()); len(name) == 0 || string(name) == typeBefore {
		e.EventType = typeBefore
	} else {
		e.EventType = string(name)
	}
	if e.EventType == "" {
		d.Fail()
	}
	schema, occurred, shard := d.Uint(), d.Int(), d.Uint()
	if schema > maxNumber || shard > maxNumber {
		d.Fail()
	}
	e.Schema, e.Shard = int(schema), int(shard)
	e.OccurredAt = d.time(e.RecordedAt.UnixMilli() + occurred)
	if n := d.Uint(); n > 0 {
		b := d.Bytes(n)
		e.Payload = b[:len(b):len(b)]
	}
	for i, text := range [...]*string{&e.Correlation, &e.Causation, &e.Actor, &e.Tenant} {
		if fields[0]&(1<<i) != 0 {
			*text = d.string()
		}
	}
	if fields[0]&hasMetadata != 0 {
		e.Metadata = d.metadata()
	}
	if fields[0]&hasHash != 0 {
		e.Hash = slices.Clone(d.Bytes(d.Uint()))
	}
	if fields[0]&hasTags != 0 {
		e.Tags = d.texts()
	}
}

func (d *decoder) texts() []string {
	n := d.Count()
	texts := make([]string, 0, min(n, MaxTags))
	for range n {
		if d.Failed() {
			break
		}
		texts = append(texts, d.string())
	}
	return texts
}

func (d *decoder) metadata() map[string]string {
	n := d.Count()
	entries := make(map[string]string, min(n, maxMetadata))
	for range n {
		if d.Failed() {
			break
		}
		name := d.string()
		entries[name] = d.string()
	}
	return entries
}

// maxNumber bounds the numbers of an event, which are then ints everywhere.
const maxNumber = 1<<31 - 1

func (d *decoder) string() string { return string(d.Bytes(d.Uint())) }

// name reads an ID. If it is equal to one that is known, they share memory.
func (d *decoder) name(known string) string {
	if n := d.Uint(); n > 0 {
		return string(d.Bytes(n - 1))
	}
	var id ulid.ULID
	copy(id[:], d.Bytes(uint64(len(id))))
	if d.Failed() {
		return ""
	}
	var text [ulid.EncodedSize]byte
	if id.MarshalTextTo(text[:]) != nil || string(text[:]) == known {
		return known
	}
	return string(text[:])
}

// The first and the last time with a year of four digits, in milliseconds.
var (
	firstTime = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	lastTime  = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli()
)

func (d *decoder) time(ms int64) time.Time {
	if ms < firstTime || ms > lastTime {
		d.Fail()
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// From returns a record without the events before a number, nil if none is left. Errors: ErrPage.
func (r Record) From(id ID, seq int64) (Record, error) {
	info, err := r.Info()
	switch {
	case err != nil || info.Last() < seq:
		return nil, err
	case info.First >= seq:
		return r, nil
	}
	events, err := r.Events(id, nil)
	if err != nil {
		return nil, err
	}
	return NewRecord(events[seq-info.First:], info), nil
}
