package capacity

import (
	"bytes"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/keyenc"
)

// Names in TableUse.Prefixes for keys without a prefix of their own.
const (
	NoPrefix    = ""        // keys that are not strings, and those without a '#'
	ScanPrefix  = "(scan)"  // Scans, which read all partitions
	OtherPrefix = "(other)" // prefixes beyond the first 255
)

const maxPrefixes = 256

// Access is what was read or written: the partition, its index, and the time.
type Access struct {
	Primary []byte // starts with the partition's hash⁴ and key(partition key); if shorter, a Scan of all partitions
	Index   int    // 1 + ordinal of the index of the partition; 0 for the table
	Second  int64  // since 1970
}

const hashBytes = 4

// partition returns the bytes of the partition key, or nil if there is none.
func (p *Access) partition() []byte {
	if len(p.Primary) <= hashBytes {
		return nil
	}
	b := p.Primary[hashBytes:]
	rest, err := keyenc.Skip(b)
	if err != nil {
		return nil
	}
	return b[:len(b)-len(rest)]
}

func (m *Table) countPrefix(d Direction, at Access, times, halves int64) {
	m.prefixMeter(at).count(d, halves, times)
}

// prefixMeter returns the meter for a place's prefix.
func (m *Table) prefixMeter(at Access) *useMeter {
	switch {
	case len(at.Primary) <= hashBytes:
		return m.prefixNamed(ScanPrefix)
	case m.prefix != nil:
		return m.prefixNamed(m.prefix(keyText(at.partition())))
	}
	const textTag = 0x20
	if text := at.Primary[hashBytes:]; text[0] == textTag {
		// Up to '#', the encoded text equals the text, unless it contains a NUL.
		if end := bytes.IndexByte(text[1:], '#'); end >= 0 && bytes.IndexByte(text[1:1+end], 0) < 0 {
			if c := (*m.prefixes.Load())[string(text[1:end+2])]; c != nil {
				return c
			}
		}
		prefix, _, found := strings.Cut(keyText(at.partition()), "#")
		if found {
			return m.prefixNamed(prefix + "#")
		}
	}
	return m.prefixNamed(NoPrefix)
}

func (m *Table) prefixNamed(name string) *useMeter {
	if c := (*m.prefixes.Load())[name]; c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(*m.prefixes.Load()) >= maxPrefixes-1 {
		name = OtherPrefix
	}
	return grow(&m.prefixes, name)
}

// keyText formats a partition key: the text of a string, the digits of a number, or the bytes of a
// binary.
func keyText(partition []byte) string {
	v, _, err := keyenc.Decode(partition)
	if err != nil {
		return ""
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	}
	return ""
}
