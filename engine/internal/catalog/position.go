package catalog

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/onefold/onefold/engine/internal/request"
)

// Position is what a shard iterator holds: version 1 | stream 4 | shard 4 | next sequence number 8 | made at 8.
type Position struct {
	Stream, Shard uint32
	Next          uint64
	Made          int64 // milliseconds since 1970
}

const (
	positionVersion = 1
	positionLen     = 1 + 4 + 4 + 8 + 8
)

// Encode writes the iterator.
func (p Position) Encode() string {
	b := make([]byte, 0, positionLen)
	b = binary.BigEndian.AppendUint32(append(b, positionVersion), p.Stream)
	b = binary.BigEndian.AppendUint32(b, p.Shard)
	b = binary.BigEndian.AppendUint64(b, p.Next)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Made))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParsePosition reads what Encode wrote.
func ParsePosition(s *string) (Position, error) {
	if s == nil {
		return Position{}, request.Invalid("1 validation error detected: Value null at 'shardIterator' failed to satisfy constraint: Member must not be null")
	}
	b, err := base64.RawURLEncoding.DecodeString(*s)
	if err != nil || len(b) != positionLen || b[0] != positionVersion {
		return Position{}, request.Invalid("Invalid ShardIterator")
	}
	return Position{
		Stream: binary.BigEndian.Uint32(b[1:]), Shard: binary.BigEndian.Uint32(b[5:]),
		Next: binary.BigEndian.Uint64(b[9:]), Made: int64(binary.BigEndian.Uint64(b[17:])),
	}, nil
}

const maxStreamPage = 100

// PageLimit checks the Limit of a list of streams or shards.
func PageLimit(limit *int32) (int, error) {
	if limit == nil {
		return maxStreamPage, nil
	}
	if *limit < 1 || *limit > maxStreamPage {
		bound := "greater than or equal to 1"
		if *limit > maxStreamPage {
			bound = "less than or equal to 100"
		}
		return 0, request.Invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value %s", *limit, bound)
	}
	return int(*limit), nil
}
