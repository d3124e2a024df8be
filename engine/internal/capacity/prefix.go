package capacity

import (
	"bytes"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/keyenc"
)

// Names in TableUse.Prefixes of what has no prefix of its own.
const (
	NoPrefix    = ""        // keys that are not strings, and those without a '#'
	ScanPrefix  = "(scan)"  // Scans, which read whatever comes
	OtherPrefix = "(other)" // prefixes beyond the first 255
)

const maxPrefixes = 256

// Place says what was read or written: the partition, of which index and when.
type Place struct {
	Primary []byte // begins with the partition's hash⁴ and key(partition key); shorter than that: all partitions, by a Scan
	Index   int    // 1 + ordinal of the index whose partition it is; 0: the table's
	Second  int64  // since 1970
}

const hashBytes = 4

// partition returns the bytes of the partition key, nil for none.
func (p *Place) partition() []byte {
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

func (m *Table) countPrefix(d Direction, at Place, times, halves int64) {
	m.prefixMeter(at).count(d, halves, times)
}

// prefixMeter returns the counter of a place's prefix.
func (m *Table) prefixMeter(at Place) *useMeter {
	switch {
	case len(at.Primary) <= hashBytes:
		return m.prefixNamed(ScanPrefix)
	case m.prefix != nil:
		return m.prefixNamed(m.prefix(keyText(at.partition())))
	}
	const textTag = 0x20
	if text := at.Primary[hashBytes:]; text[0] == textTag {
		// What stands before a '#' in the encoded text is the same as in the text, unless it holds a NUL.
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

// keyText is a partition key as a person reads it: the text of a string, the digits of a number, a binary's bytes.
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
