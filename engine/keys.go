package engine

import (
	"encoding/binary"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/keyenc"
	"github.com/onefold/onefold/engine/internal/row"
)

// hashBytes is how many bytes of a partition key's hash are before the key.
const hashBytes = 4

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
	return s.appendPrimary(row.AppendItemPrefix(dst, s.desc.ID), it)
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
