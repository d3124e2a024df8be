package engine

import (
	"encoding/binary"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/keyenc"
)

// The first byte of a key says what the row is. docs/format/engine.md draws every key and value.
const (
	spaceMeta      = 0x01 // counters and the format version
	spaceTable     = 0x02 // table descriptors by name
	spaceStream    = 0x03 // stream descriptors by stream id
	spaceItem      = 0x10 // items
	spaceIndex     = 0x20 // secondary index rows
	spaceRecord    = 0x30 // stream records
	spaceExpiry    = 0x40 // expiry rows
	spaceToken     = 0x50 // idempotency tokens of transactions
	spaceTokenTime = 0x51 // the same, by the time at which they lapse
)

// Keys of spaceMeta.
var (
	keyFormat   = []byte{spaceMeta, 'f'} // format version, one byte
	keySequence = []byte{spaceMeta, 's'} // stream sequence numbers below this one may have been used
	keyTableID  = []byte{spaceMeta, 't'} // table, index and stream ids below this one have been used
)

const (
	hashBytes      = 4
	itemPrefixLen  = 1 + 4     // space, table id
	indexPrefixLen = 1 + 4 + 4 // space, table id, index id
)

// tableKey is the key of a table's descriptor.
func tableKey(name string) []byte { return append([]byte{spaceTable}, name...) }

// streamKey is the key of a stream's descriptor.
func streamKey(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{spaceStream}, id)
}

// appendItemPrefix begins the key of an item of a table.
func appendItemPrefix(dst []byte, table uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, spaceItem), table)
}

// appendIndexPrefix begins the key of a row of an index.
func appendIndexPrefix(dst []byte, table, index uint32) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, spaceIndex), table)
	return binary.BigEndian.AppendUint32(dst, index)
}

// appendPartition appends the hash of a partition key value and the value itself.
func appendPartition(dst []byte, v types.AttributeValue) ([]byte, error) {
	at := len(dst)
	dst, err := keyenc.Append(append(dst, 0, 0, 0, 0), v)
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(xxhash.Sum64(dst[at+hashBytes:])>>32))
	return dst, nil
}

// appendPrimary appends hash, partition key and sort key of an item.
func (s *schema) appendPrimary(dst []byte, it item.Item) ([]byte, error) {
	dst, err := appendPartition(dst, it[s.hash.Name])
	if err != nil || s.rng.Name == "" {
		return dst, err
	}
	return keyenc.Append(dst, it[s.rng.Name])
}

// appendItemKey appends the whole key of an item.
func (s *schema) appendItemKey(dst []byte, it item.Item) ([]byte, error) {
	return s.appendPrimary(appendItemPrefix(dst, s.desc.ID), it)
}

// appendRow appends the key of the index row of an item whose primary key bytes (hash, partition, sort) are primary.
func (x *index) appendRow(dst []byte, it item.Item, primary []byte) ([]byte, error) {
	dst, err := appendPartition(append(dst, x.prefix...), it[x.hash.Name])
	if err != nil {
		return nil, err
	}
	if x.rng.Name != "" {
		if dst, err = keyenc.Append(dst, it[x.rng.Name]); err != nil {
			return nil, err
		}
	}
	return append(dst, primary...), nil
}

// upperBound returns the least key above all keys that begin with prefix, or nil when there is none.
func upperBound(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// shardPrefix begins the key of a record of a stream shard.
func shardPrefix(stream, shard uint32) []byte {
	b := binary.BigEndian.AppendUint32([]byte{spaceRecord}, stream)
	return binary.BigEndian.AppendUint32(b, shard)
}

const recordKeyLen = 1 + 4 + 4 + 8

// putRecordKey fills dst, of recordKeyLen bytes.
func putRecordKey(dst []byte, stream, shard uint32, seq uint64) {
	dst[0] = spaceRecord
	binary.BigEndian.PutUint32(dst[1:], stream)
	binary.BigEndian.PutUint32(dst[5:], shard)
	binary.BigEndian.PutUint64(dst[9:], seq)
}

// recordSequence reads the sequence number out of a record's key.
func recordSequence(key []byte) uint64 { return binary.BigEndian.Uint64(key[9:]) }

// appendExpiryKey appends the key of the expiry row of an item: when it lapses, then its primary key bytes.
func appendExpiryKey(dst []byte, table uint32, at int64, primary []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, spaceExpiry), table)
	dst = binary.BigEndian.AppendUint64(dst, uint64(at))
	return append(dst, primary...)
}

const expiryPrefixLen = 1 + 4 + 8
