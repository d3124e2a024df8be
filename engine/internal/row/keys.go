package row

import "encoding/binary"

// The first byte of a key says what the row is. docs/format/engine.md draws every key and value.
const (
	SpaceMeta      = 0x01 // counters and the format version
	SpaceTable     = 0x02 // table descriptors by name
	SpaceStream    = 0x03 // stream descriptors by stream id
	SpaceItem      = 0x10 // items
	SpaceIndex     = 0x20 // secondary index rows
	SpaceRecord    = 0x30 // stream records
	SpaceExpiry    = 0x40 // expiry rows
	SpaceToken     = 0x50 // idempotency tokens of transactions
	SpaceTokenTime = 0x51 // the same, by the time at which they lapse
	SpacePostponed = 0x60 // changes of indexes that readers are not to see yet, by when they are
)

// Keys of SpaceMeta.
var (
	KeyFormat   = []byte{SpaceMeta, 'f'} // format version, one byte
	KeySequence = []byte{SpaceMeta, 's'} // stream sequence numbers below this one may have been used
	KeyIDs      = []byte{SpaceMeta, 't'} // table, index and stream ids below this one have been used
	KeyOpen     = []byte{SpaceMeta, 'o'} // the store is open, or its process ended without closing it; one byte
)

// TableKey is the key of a table's descriptor.
func TableKey(name string) []byte { return append([]byte{SpaceTable}, name...) }

// StreamKey is the key of a stream's descriptor.
func StreamKey(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{SpaceStream}, id)
}

// AppendItemPrefix begins the key of an item of a table.
func AppendItemPrefix(dst []byte, table uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, SpaceItem), table)
}

// AppendIndexPrefix begins the key of a row of an index.
func AppendIndexPrefix(dst []byte, table, index uint32) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, SpaceIndex), table)
	return binary.BigEndian.AppendUint32(dst, index)
}

// IndexPrefixLen is how many bytes AppendIndexPrefix appends.
const IndexPrefixLen = 1 + 4 + 4

// UpperBound returns the least key above all keys that begin with prefix, or nil when there is none.
func UpperBound(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// ShardPrefix begins the key of a record of a stream shard.
func ShardPrefix(stream, shard uint32) []byte {
	b := binary.BigEndian.AppendUint32([]byte{SpaceRecord}, stream)
	return binary.BigEndian.AppendUint32(b, shard)
}

const RecordKeyLen = 1 + 4 + 4 + 8

// PutRecordKey fills dst, of RecordKeyLen bytes.
func PutRecordKey(dst []byte, stream, shard uint32, seq uint64) {
	dst[0] = SpaceRecord
	binary.BigEndian.PutUint32(dst[1:], stream)
	binary.BigEndian.PutUint32(dst[5:], shard)
	binary.BigEndian.PutUint64(dst[9:], seq)
}

// RecordSequence reads the sequence number out of a record's key.
func RecordSequence(key []byte) uint64 { return binary.BigEndian.Uint64(key[9:]) }

// AppendExpiryKey appends the key of the expiry row of an item: when it lapses, then its primary key bytes.
func AppendExpiryKey(dst []byte, table uint32, at int64, primary []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, SpaceExpiry), table)
	dst = binary.BigEndian.AppendUint64(dst, uint64(at))
	return append(dst, primary...)
}

const ExpiryPrefixLen = 1 + 4 + 8

// ItemPrefixLen is how many bytes are before the primary key bytes of an item's key: space and table id.
const ItemPrefixLen = 1 + 4
