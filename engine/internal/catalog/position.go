package catalog

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/onefold/onefold/engine/internal/request"
)

// Position is the content of a shard iterator: version 1 | stream 4 | shard 4 | next sequence
// number 8 | creation time 8.
type Position struct {
	Stream, Shard uint32
	Next          uint64
	Made          int64 // milliseconds since 1970
}

const (
	positionVersion = 1
	positionLen     = 1 + 4 + 4 + 8 + 8
)

// Encode encodes the position as an iterator.
func (p Position) Encode() string {
	b := make([]byte, 0, positionLen)
	b = binary.BigEndian.AppendUint32(append(b, positionVersion), p.Stream)
	b = binary.BigEndian.AppendUint32(b, p.Shard)
	b = binary.BigEndian.AppendUint64(b, p.Next)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Made))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParsePosition parses an iterator made by Encode.
func ParsePosition(s string) (Position, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != positionLen || b[0] != positionVersion {
		return Position{}, request.Invalid("Invalid ShardIterator")
	}
	return Position{
		Stream: binary.BigEndian.Uint32(b[1:]), Shard: binary.BigEndian.Uint32(b[5:]),
		Next: binary.BigEndian.Uint64(b[9:]), Made: int64(binary.BigEndian.Uint64(b[17:])),
	}, nil
}
