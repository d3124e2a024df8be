package engine

import (
	"encoding/binary"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A stream record's value:
//
//	version 1 | flags 1 | milliseconds since 1970, 8 | {uvarint length, row} for each image that flags name: keys, old, new
//
// An image is the row of an item as it is stored, so that writing a record copies bytes and encodes nothing.
const recordVersion = 1

const (
	recordInsert  = 1 << iota // the event's name; none of the three names is not a record
	recordModify              //
	recordRemove              //
	recordKeys                // a row of the key attributes alone
	recordOld                 // the row before
	recordNew                 // the row after
	recordService             // made by expiry, not by a request
)

const recordHeader = 1 + 1 + 8

// recordImages says what a view keeps of a change.
func recordImages(view types.StreamViewType, old, new []byte) (flags byte, keepOld, keepNew []byte) {
	switch {
	case old == nil:
		flags = recordInsert
	case new == nil:
		flags = recordRemove
	default:
		flags = recordModify
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

// appendRecord appends a record's value. keys is asked for only when no image is kept.
func appendRecord(dst []byte, view types.StreamViewType, now int64, service bool, old, new []byte, keys func() []byte) []byte {
	flags, old, new := recordImages(view, old, new)
	if service {
		flags |= recordService
	}
	dst = append(dst, recordVersion, flags)
	dst = binary.BigEndian.AppendUint64(dst, uint64(now))
	if flags&recordKeys != 0 {
		dst = appendSized(dst, keys())
	}
	if flags&recordOld != 0 {
		dst = appendSized(dst, old)
	}
	if flags&recordNew != 0 {
		dst = appendSized(dst, new)
	}
	return dst
}

func appendSized(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// record is a stream record taken apart; the rows are parts of the value.
type record struct {
	flags          byte
	millis         int64
	keys, old, new []byte
}

func parseRecord(v []byte) (record, error) {
	if len(v) < recordHeader || v[0] != recordVersion {
		return record{}, ErrCorrupt
	}
	r := record{flags: v[1], millis: int64(binary.BigEndian.Uint64(v[2:]))}
	v = v[recordHeader:]
	for _, part := range []struct {
		flag byte
		dst  *[]byte
	}{{recordKeys, &r.keys}, {recordOld, &r.old}, {recordNew, &r.new}} {
		if r.flags&part.flag == 0 {
			continue
		}
		n, w := binary.Uvarint(v)
		if w <= 0 || n > uint64(len(v)-w) {
			return record{}, ErrCorrupt
		}
		*part.dst, v = v[w:w+int(n)], v[w+int(n):]
	}
	return r, nil
}
