package migrate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// Sum is an order-independent digest of an entity's items: their number, and 128 bits of the sum of
// their hashes.
type Sum struct {
	Items int64
	Hash  [2]uint64
}

// MarshalJSON implements json.Marshaler.
func (s Sum) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Items    int64  `json:"items"`
		Checksum string `json:"checksum"`
	}{s.Items, s.checksum()})
}

func (s *Sum) checksum() string { return fmt.Sprintf("%016x%016x", s.Hash[1], s.Hash[0]) }

// add adds an item.
func (s *Sum) add(it table.Item) {
	h := sha256.Sum256(appendMap(nil, it))
	s.merge(Sum{1, [2]uint64{binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:16])}})
}

func (s *Sum) merge(o Sum) {
	s.Items += o.Items
	var carry uint64
	s.Hash[0], carry = bits.Add64(s.Hash[0], o.Hash[0], 0)
	s.Hash[1], _ = bits.Add64(s.Hash[1], o.Hash[1], carry)
}

// String formats the sum for people.
func (s *Sum) String() string {
	return counted(s.Items, "item", "items") + ", checksum " + s.checksum()
}

// appendMap encodes attributes with their lengths, sorted by name, so that exactly equal maps have
// equal encodings.
func appendMap(b []byte, m map[string]types.AttributeValue) []byte {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	b = binary.AppendUvarint(append(b, 'M'), uint64(len(names)))
	for _, name := range names {
		b = appendValue(appendText(b, 'K', name), m[name])
	}
	return b
}

func appendText(b []byte, kind byte, s string) []byte {
	return append(binary.AppendUvarint(append(b, kind), uint64(len(s))), s...)
}

func appendValue(b []byte, av types.AttributeValue) []byte {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return appendText(b, 'S', v.Value)
	case *types.AttributeValueMemberN:
		return appendText(b, 'N', number(v.Value))
	case *types.AttributeValueMemberB:
		return appendText(b, 'B', string(v.Value))
	case *types.AttributeValueMemberBOOL:
		return strconv.AppendBool(append(b, 'T'), v.Value)
	case *types.AttributeValueMemberM:
		return appendMap(b, v.Value)
	case *types.AttributeValueMemberL:
		b = binary.AppendUvarint(append(b, 'L'), uint64(len(v.Value)))
		for _, e := range v.Value {
			b = appendValue(b, e)
		}
		return b
	case *types.AttributeValueMemberSS:
		return appendSet(b, 's', v.Value)
	case *types.AttributeValueMemberNS:
		numbers := make([]string, len(v.Value))
		for i, n := range v.Value {
			numbers[i] = number(n)
		}
		return appendSet(b, 'n', numbers)
	case *types.AttributeValueMemberBS:
		texts := make([]string, len(v.Value))
		for i, e := range v.Value {
			texts[i] = string(e)
		}
		return appendSet(b, 'b', texts)
	}
	return append(b, '0') // NULL
}

// appendSet encodes the elements of a set, independent of their order.
func appendSet(b []byte, kind byte, elements []string) []byte {
	elements = slices.Sorted(slices.Values(elements))
	b = binary.AppendUvarint(append(b, kind), uint64(len(elements)))
	for _, e := range elements {
		b = appendText(b, 'e', e)
	}
	return b
}

// number returns the canonical form of a number. Stores may write the same number as 10, 1E+1 or
// 10.0.
func number(s string) string {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	shift := 0
	if hasExponent {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil {
			return s
		}
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign = "-"
	}
	whole, fraction, _ := strings.Cut(strings.TrimLeft(mantissa, "+-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "0"
	}
	return sign + significant + "e" + strconv.Itoa(shift-len(fraction)+len(digits)-len(significant))
}
