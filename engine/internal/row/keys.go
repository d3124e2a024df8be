package row

import "encoding/binary"

// The first byte of a key is the type of the row. docs/format/engine.md specifies all keys and
// values. Numbers are big-endian, with their width in bytes, so that keys sort by them:
//
//	item      10 table⁴ primary
//	index     20 table⁴ index⁴ hash⁴ key(index hash key) key(index range key) primary
//	record    30 stream⁴ shard⁴ sequence⁸
//	expiry    40 table⁴ seconds⁸ primary
//	postponed 60 due⁸ number⁸
//
//	primary = hash⁴ key(partition key) key(sort key), where key is that of package keyenc
//
// hash is the upper half of a hash of the partition key. It comes first so that the segments of a
// parallel scan are ranges of equal size, whatever the keys are. All items of a partition have the
// same hash, so they remain adjacent and sorted. An index entry ends with the primary key of its
// item, because several items may have the same index key. An expiry row has no value: expired items
// are found by reading the rows of a table up to the current second.
const (
	SpaceMeta      = 0x01 // counters and the format version
	SpaceTable     = 0x02 // table descriptors by name
	SpaceStream    = 0x03 // stream descriptors by stream ID
	SpaceItem      = 0x10 // items
	SpaceIndex     = 0x20 // secondary index rows
	SpaceRecord    = 0x30 // stream records
	SpaceExpiry    = 0x40 // expiry rows
	SpaceToken     = 0x50 // idempotency tokens of transactions
	SpaceTokenTime = 0x51 // the same, by expiry
	SpacePostponed = 0x60 // changes of indexes that are not visible yet, by due time
)

// Keys of SpaceMeta.
var (
	KeyFormat   = []byte{SpaceMeta, 'f'} // format version, one byte
	KeySequence = []byte{SpaceMeta, 's'} // stream sequence numbers below it may be in use
	KeyIDs      = []byte{SpaceMeta, 't'} // IDs of tables, indexes and streams below it are in use
	KeyOpen     = []byte{SpaceMeta, 'o'} // present while the store is open, or if its process ended without closing it; one byte
)

// TableKey returns the key of a table's descriptor.
func TableKey(name string) []byte { return append([]byte{SpaceTable}, name...) }

// StreamKey returns the key of a stream's descriptor.
func StreamKey(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{SpaceStream}, id)
}

// AppendItemPrefix appends the common prefix of the keys of a table's items.
func AppendItemPrefix(dst []byte, table uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, SpaceItem), table)
}

// AppendIndexPrefix appends the common prefix of the keys of an index's rows.
func AppendIndexPrefix(dst []byte, table, index uint32) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, SpaceIndex), table)
	return binary.BigEndian.AppendUint32(dst, index)
}

// IndexPrefixLen is the number of bytes appended by AppendIndexPrefix.
const IndexPrefixLen = 1 + 4 + 4

// UpperBound returns the smallest key greater than all keys that begin with prefix, or nil if there
// is none.
func UpperBound(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// ShardPrefix returns the common prefix of the keys of a stream shard's records.
func ShardPrefix(stream, shard uint32) []byte {
	b := binary.BigEndian.AppendUint32([]byte{SpaceRecord}, stream)
	return binary.BigEndian.AppendUint32(b, shard)
}

const RecordKeyLen = 1 + 4 + 4 + 8

// PutRecordKey writes a record's key to dst, which has RecordKeyLen bytes.
func PutRecordKey(dst []byte, stream, shard uint32, seq uint64) {
	dst[0] = SpaceRecord
	binary.BigEndian.PutUint32(dst[1:], stream)
	binary.BigEndian.PutUint32(dst[5:], shard)
	binary.BigEndian.PutUint64(dst[9:], seq)
}

// RecordSequence returns the sequence number in a record's key.
func RecordSequence(key []byte) uint64 { return binary.BigEndian.Uint64(key[9:]) }

// AppendExpiryKey appends the key of an item's expiry row: the expiry time, then the item's primary
// key bytes.
func AppendExpiryKey(dst []byte, table uint32, at int64, primary []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, SpaceExpiry), table)
	dst = binary.BigEndian.AppendUint64(dst, uint64(at))
	return append(dst, primary...)
}

const ExpiryPrefixLen = 1 + 4 + 8

// ItemPrefixLen is the number of bytes before the primary key bytes in an item's key: space and
// table ID.
const ItemPrefixLen = 1 + 4
