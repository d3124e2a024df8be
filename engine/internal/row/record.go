package row

import (
	"encoding/binary"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// A stream record's value:
//
//	version 1 | flags 1 | milliseconds since 1970, 8 | {uvarint length, row} for each image that flags name: keys, old, new
//
// Images are the stored rows of items, so that writing a record only copies bytes.
const recordVersion = 1

const (
	Insert     = 1 << iota // name of the event: exactly one of the three is set
	Modify                 //
	Remove                 //
	recordKeys             // a row with only the key attributes
	recordOld              // the row before
	recordNew              // the row after
	Service                // made by expiry, not by a request
)

const recordHeader = 1 + 1 + 8

// recordImages returns the images that a view type keeps of a change.
func recordImages(view types.StreamViewType, old, new []byte) (flags byte, keepOld, keepNew []byte) {
	switch {
	case old == nil:
		flags = Insert
	case new == nil:
		flags = Remove
	default:
		flags = Modify
	}
	if old != nil && (view == types.StreamViewTypeOldImage || view == types.StreamViewTypeNewAndOldImages) {
		flags, keepOld = flags|recordOld, old
	}
	if new != nil && (view == types.StreamViewTypeNewImage || view == types.StreamViewTypeNewAndOldImages) {
		flags, keepNew = flags|recordNew, new
	}
	if keepOld == nil && keepNew == nil {
		flags |= recordKeys
	}
	return flags, keepOld, keepNew
}

// AppendRecord appends an encoded record. keys is called only if no image is kept.
func AppendRecord(dst []byte, view types.StreamViewType, now int64, service bool, old, new []byte, keys func() []byte) []byte {
	flags, old, new := recordImages(view, old, new)
	if service {
		flags |= Service
	}
	dst = append(dst, recordVersion, flags)
	dst = binary.BigEndian.AppendUint64(dst, uint64(now))
	if flags&recordKeys != 0 {
		dst = AppendSized(dst, keys())
	}
	if flags&recordOld != 0 {
		dst = AppendSized(dst, old)
	}
	if flags&recordNew != 0 {
		dst = AppendSized(dst, new)
	}
	return dst
}

// AppendSized appends the length of b as a uvarint, and b.
func AppendSized(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// Record is a decoded stream record. The rows point into the encoded value.
type Record struct {
	Flags          byte
	Millis         int64 // since 1970
	Keys, Old, New []byte
}

// ParseRecord decodes a record. Errors: ErrCorrupt.
func ParseRecord(v []byte) (Record, error) {
	if len(v) < recordHeader || v[0] != recordVersion {
		return Record{}, ErrCorrupt
	}
	r := Record{Flags: v[1], Millis: int64(binary.BigEndian.Uint64(v[2:]))}
	v = v[recordHeader:]
	for _, part := range []struct {
		flag byte
		dst  *[]byte
	}{{recordKeys, &r.Keys}, {recordOld, &r.Old}, {recordNew, &r.New}} {
		if r.Flags&part.flag == 0 {
			continue
		}
		n, w := binary.Uvarint(v)
		if w <= 0 || n > uint64(len(v)-w) {
			return Record{}, ErrCorrupt
		}
		*part.dst, v = v[w:w+int(n)], v[w+int(n):]
	}
	return r, nil
}

// EventName returns the API's name of the change.
func (r *Record) EventName() streamtypes.OperationType {
	switch {
	case r.Flags&Insert != 0:
		return streamtypes.OperationTypeInsert
	case r.Flags&Remove != 0:
		return streamtypes.OperationTypeRemove
	}
	return streamtypes.OperationTypeModify
}

const hexDigits = "0123456789abcdef"

// EventID returns the unique ID of a record: the stream's ID and the sequence number, in
// hexadecimal.
func EventID(stream uint32, seq uint64) string {
	var b [32]byte
	for i := 15; i >= 0; i-- {
		b[i], stream = hexDigits[stream&15], stream>>4
		b[16+i], seq = hexDigits[seq&15], seq>>4
	}
	return string(b[:])
}
