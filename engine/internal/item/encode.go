package item

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// version is the version of the bytes of an item. Integers are Go's varints; text(x) is a varint
// length and the bytes. Version 1 is:
//
//	item    = version(1) count attr…        names ascending
//	attr    = text(name) value
//	value   = tag payload
//	S  1    text(utf-8)
//	B  2    text(bytes)
//	N  3    zigzag varint                   an integer that fits 64 bits
//	N  4    zigzag(exp)·2+neg lo hi         any other: coefficient hi·2^64+lo without trailing zeros
//	false 5, true 6, NULL 7                 nothing follows
//	M  8    length count attr…              length = bytes that follow it; names ascending
//	L  9    length count value…
//	SS 10   length count text(member)…      members ascending
//	NS 11   length count value…             members ascending by value
//	BS 12   length count text(member)…      members ascending
//
// Equal items have equal bytes, whatever the order of a set's members or a map's keys was.
const version = 1

const (
	tagS = iota + 1
	tagB
	tagInt
	tagDecimal
	tagFalse
	tagTrue
	tagNull
	tagM
	tagL
	tagSS
	tagNS
	tagBS
)

// Append appends the encoding of a normalized item to dst. Values that Normalize would reject are
// written as NULL.
func Append(dst []byte, it Item) []byte {
	dst = append(dst, version)
	return appendAttrs(dst, it)
}

// AppendValue appends the encoding of one normalized value as inside an item, without a version.
func AppendValue(dst []byte, av types.AttributeValue) []byte {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return appendText(append(dst, tagS), v.Value)
	case *types.AttributeValueMemberN:
		return appendNumber(dst, v.Value)
	case *types.AttributeValueMemberB:
		return appendText(append(dst, tagB), v.Value)
	case *types.AttributeValueMemberBOOL:
		if v.Value {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	case *types.AttributeValueMemberM:
		dst = append(dst, tagM, 0)
		start := len(dst)
		return patchLength(appendAttrs(dst, v.Value), start)
	case *types.AttributeValueMemberL:
		dst = append(dst, tagL, 0)
		start := len(dst)
		dst = binary.AppendUvarint(dst, uint64(len(v.Value)))
		for _, e := range v.Value {
			dst = AppendValue(dst, e)
		}
		return patchLength(dst, start)
	case *types.AttributeValueMemberSS:
		return appendTexts(append(dst, tagSS, 0), inOrder(v.Value, strings.Compare))
	case *types.AttributeValueMemberBS:
		return appendTexts(append(dst, tagBS, 0), inOrder(v.Value, bytes.Compare))
	case *types.AttributeValueMemberNS:
		dst = append(dst, tagNS, 0)
		start := len(dst)
		dst = binary.AppendUvarint(dst, uint64(len(v.Value)))
		for _, s := range inOrder(v.Value, CompareNumbers) {
			dst = appendNumber(dst, s)
		}
		return patchLength(dst, start)
	}
	return append(dst, tagNull)
}

func appendAttrs(dst []byte, m Item) []byte {
	var buf [24]string
	names := buf[:0]
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	dst = binary.AppendUvarint(dst, uint64(len(names)))
	for _, name := range names {
		dst = appendText(dst, name)
		dst = AppendValue(dst, m[name])
	}
	return dst
}

func appendText[T string | []byte](dst []byte, s T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendTexts appends members after a tag and a byte reserved for the length.
func appendTexts[T string | []byte](dst []byte, members []T) []byte {
	start := len(dst)
	dst = binary.AppendUvarint(dst, uint64(len(members)))
	for _, s := range members {
		dst = appendText(dst, s)
	}
	return patchLength(dst, start)
}

// patchLength stores the length of everything after start in the byte before it, and makes room if
// one byte is not enough.
func patchLength(dst []byte, start int) []byte {
	n := uint64(len(dst) - start)
	if n < 0x80 {
		dst[start-1] = byte(n)
		return dst
	}
	var buf [binary.MaxVarintLen64]byte
	length := buf[:binary.PutUvarint(buf[:], n)]
	dst = append(dst, length[1:]...)
	copy(dst[start-1+len(length):], dst[start:start+int(n)])
	copy(dst[start-1:], length)
	return dst
}

// inOrder returns the members of a set in ascending order, without modifying the set.
func inOrder[T any](set []T, compare func(a, b T) int) []T {
	if slices.IsSortedFunc(set, compare) {
		return set
	}
	set = slices.Clone(set)
	slices.SortFunc(set, compare)
	return set
}

func appendNumber(dst []byte, text string) []byte {
	if isPlainInt(text) {
		return binary.AppendVarint(append(dst, tagInt), plainInt(text))
	}
	n, err := ParseNumber(text)
	if err != nil {
		return append(dst, tagNull)
	}
	if i, ok := n.Int64(); ok {
		return binary.AppendVarint(append(dst, tagInt), i)
	}
	head := uint64(n.exp<<1^n.exp>>15) & 0xffff << 1
	if n.neg {
		head |= 1
	}
	dst = binary.AppendUvarint(append(dst, tagDecimal), head)
	dst = binary.AppendUvarint(dst, n.lo)
	return binary.AppendUvarint(dst, n.hi)
}
