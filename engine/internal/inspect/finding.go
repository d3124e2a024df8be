package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/keyenc"
)

// Kind says what is wrong with a row.
type Kind string

// The kinds of findings.
const (
	FileDamaged  Kind = "file-damaged"  // a block of a file does not fit its checksum: the rows in it cannot be read
	Unreadable   Kind = "unreadable"    // bytes do not have the documented form
	Keyless      Kind = "keyless"       // an item does not have the attributes of the table's key
	Misplaced    Kind = "misplaced"     // a row is under another key than its attributes say
	WrongSize    Kind = "wrong-size"    // an item's noted size is not its size
	NotCanonical Kind = "not-canonical" // an item is not encoded in the one form that equal items share
	IndexMissing Kind = "index-missing" // an item has no entry in an index that covers it
	IndexStale   Kind = "index-stale"   // an entry does not say what the item says
	IndexOrphan  Kind = "index-orphan"  // no item stands behind an entry
	TTLMissing   Kind = "ttl-missing"   // an item that expires has no expiry row
	TTLOrphan    Kind = "ttl-orphan"    // no item stands behind an expiry row
	StreamStale  Kind = "stream-stale"  // the last record of an item does not say what the item says
	StreamRange  Kind = "stream-range"  // a record is in no shard, or outside its shard's numbers
	TokenOrphan  Kind = "token-orphan"  // one of a token's two rows is missing
	Unknown      Kind = "unknown"       // rows that belong to nothing
	Catalog      Kind = "catalog"       // descriptors or counters contradict one another
	Count        Kind = "count"         // the counts that DescribeTable tells are not those of the rows; they may lag after a crash
)

// Finding is something that is wrong, or, when it is a Count, worth knowing.
type Finding struct {
	Kind  Kind   `json:"kind"`
	Table string `json:"table,omitempty"`
	Index string `json:"index,omitempty"`
	Key   string `json:"key,omitempty"` // as a person reads it, or the row's key in hexadecimal
	Text  string `json:"text"`          // what differs, and what that means
}

// Harmless reports whether every answer of the database is right all the same.
func (f *Finding) Harmless() bool { return f.Kind == Count }

// String is the finding on one line.
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

// Summary is how much was checked.
type Summary struct {
	Tables     int       `json:"tables"`
	Items      int64     `json:"items"`
	IndexRows  int64     `json:"indexRows"`
	ExpiryRows int64     `json:"expiryRows"`
	Records    int64     `json:"records"` // of streams
	Tokens     int64     `json:"tokens"`
	Findings   int64     `json:"findings"`        // without those that are harmless
	Newest     time.Time `json:"newest,omitzero"` // the newest change that streams tell; zero: none in the last 24 hours
}

// keyText reads key values until they end, or are none.
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

// PrimaryText writes the primary key bytes of an item as a person reads them.
func PrimaryText(b []byte) string {
	if len(b) < hashBytes {
		return hex(b)
	}
	return keyText(b[hashBytes:])
}

const hashBytes = 4

func hex(b []byte) string { return fmt.Sprintf("0x%x", b) }
