package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/keyenc"
)

// Kind is the type of a finding.
type Kind string

// The kinds of findings.
const (
	FileDamaged  Kind = "file-damaged"  // a block of a file has a wrong checksum; its rows cannot be read
	Unreadable   Kind = "unreadable"    // bytes do not have the documented form
	Keyless      Kind = "keyless"       // an item lacks attributes of the table's key
	Misplaced    Kind = "misplaced"     // a row is stored under a key other than that of its attributes
	WrongSize    Kind = "wrong-size"    // an item's stored size is wrong
	NotCanonical Kind = "not-canonical" // an item is not in the canonical encoding, which equal items share
	IndexMissing Kind = "index-missing" // an item has no entry in an index that covers it
	IndexStale   Kind = "index-stale"   // an entry does not match its item
	IndexOrphan  Kind = "index-orphan"  // an entry has no item
	TTLMissing   Kind = "ttl-missing"   // an item that expires has no expiry row
	TTLOrphan    Kind = "ttl-orphan"    // an expiry row has no item
	StreamStale  Kind = "stream-stale"  // the last record of an item does not match the item
	StreamRange  Kind = "stream-range"  // a record is in no shard, or outside the numbers of its shard
	TokenOrphan  Kind = "token-orphan"  // one of the two rows of a token is missing
	Unknown      Kind = "unknown"       // rows do not belong to anything
	Catalog      Kind = "catalog"       // descriptors or counters contradict each other
	Count        Kind = "count"         // counts reported by DescribeTable differ from the rows; they may be outdated after a crash
)

// Finding is an inconsistency or, if it is a Count, informational.
type Finding struct {
	Kind  Kind   `json:"kind"`
	Table string `json:"table,omitempty"`
	Index string `json:"index,omitempty"`
	Key   string `json:"key,omitempty"` // in readable form, or the row's key in hexadecimal
	Text  string `json:"text"`          // what differs, and what that means
}

// Harmless reports whether all responses of the database are correct despite the finding.
func (f *Finding) Harmless() bool { return f.Kind == Count }

// String formats the finding on one line.
func (f *Finding) String() string {
	var b strings.Builder
	b.WriteString(string(f.Kind))
	if f.Table != "" {
		b.WriteString(" table=" + f.Table)
	}
	if f.Index != "" {
		b.WriteString(" index=" + f.Index)
	}
	if f.Key != "" {
		b.WriteString(" key=" + f.Key)
	}
	return b.String() + ": " + f.Text
}

// Summary counts what was checked.
type Summary struct {
	Tables     int       `json:"tables"`
	Items      int64     `json:"items"`
	IndexRows  int64     `json:"indexRows"`
	ExpiryRows int64     `json:"expiryRows"`
	Records    int64     `json:"records"` // of streams
	Tokens     int64     `json:"tokens"`
	Findings   int64     `json:"findings"`        // without harmless ones
	Newest     time.Time `json:"newest,omitzero"` // newest change in streams; zero if there was none in the last 24 hours
}

// keyText formats key values up to the end of b. If b is not a sequence of key values, it returns
// hexadecimal.
func keyText(b []byte) string {
	var parts []string
	for len(b) > 0 {
		v, rest, err := keyenc.Decode(b)
		if err != nil {
			return hex(b)
		}
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			parts = append(parts, strconv.Quote(v.Value))
		case *types.AttributeValueMemberN:
			parts = append(parts, v.Value)
		case *types.AttributeValueMemberB:
			parts = append(parts, hex(v.Value))
		}
		b = rest
	}
	return strings.Join(parts, "/")
}

// PrimaryText formats the primary key bytes of an item.
func PrimaryText(b []byte) string {
	if len(b) < hashBytes {
		return hex(b)
	}
	return keyText(b[hashBytes:])
}

const hashBytes = 4

func hex(b []byte) string { return fmt.Sprintf("0x%x", b) }
