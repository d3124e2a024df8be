// Package keyenc encodes key attributes as bytes that sort like the values in DynamoDB, and decodes
// them. With it, a sorted byte store can answer key conditions with range reads.
package keyenc

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// The encoding of a key attribute. Encodings are self-delimiting: none is a prefix of another, so
// several attributes can follow each other in one key, and keys compare attribute by attribute.
//
//	S  0x20 escaped(utf-8) 0x00 0x01
//	B  0x30 escaped(bytes) 0x00 0x01        escaped: 0x00 becomes 0x00 0xff
//	N  0x10 ^exponent ^pair…                a negative number; ^ is the complement
//	   0x11                                 zero
//	   0x12 exponent pair…                  a positive number
//
// A number is 0.PPPPPP… × 100^E, where each P is a pair of decimal digits; the first and the last
// pair are not 00. exponent is E+64, which is 0…127 in DynamoDB's range. Each pair is one byte,
// 2·P+1, or 2·P for the last one. That marks the end of the number, and makes a number sort before
// longer ones with the same beginning. 38 digits are at most 20 pairs, so a number takes at most 22
// bytes.
const (
	tagNegative = 0x10
	tagZero     = 0x11
	tagPositive = 0x12
	tagS        = 0x20
	tagB        = 0x30

	bias     = 64
	maxPairs = 20

	escape     = 0x00
	escapedNul = 0xff
	terminator = 0x01
)

var (
	// ErrType is returned for a value that cannot be a key. Only strings, numbers and binaries can.
	ErrType = errors.New("keyenc: a key is a string, a number or a binary")
	// ErrCorrupt is returned for bytes that Append cannot have written.
	ErrCorrupt = errors.New("keyenc: not the bytes of a key")
)

// Append appends the encoding of a key value. Equal numbers have equal encodings, no matter how
// they are written. Errors: ErrType, and those of item.ParseNumber.
func Append(dst []byte, av types.AttributeValue) ([]byte, error) {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return append(appendEscaped(append(dst, tagS), v.Value), escape, terminator), nil
	case *types.AttributeValueMemberB:
		return append(appendEscaped(append(dst, tagB), v.Value), escape, terminator), nil
	case *types.AttributeValueMemberN:
		n, err := item.ParseNumber(v.Value)
		if err != nil {
			return dst, fmt.Errorf("keyenc: number: %w", err)
		}
		return appendNumber(dst, n), nil
	}
	return dst, ErrType
}

// AppendPrefix appends the common beginning of the encodings of all values that begin with this
// one. Only strings and binaries have prefixes; a number is ErrType.
func AppendPrefix(dst []byte, av types.AttributeValue) ([]byte, error) {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return appendEscaped(append(dst, tagS), v.Value), nil
	case *types.AttributeValueMemberB:
		return appendEscaped(append(dst, tagB), v.Value), nil
	}
	return dst, ErrType
}

// Decode decodes the first key value of b and returns the rest. It never panics; bytes that Append
// cannot have written are ErrCorrupt.
func Decode(b []byte) (av types.AttributeValue, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, ErrCorrupt
	}
	switch b[0] {
	case tagS, tagB:
		raw, rest, err := unescape(b[1:])
		if err != nil {
			return nil, nil, err
		}
		if b[0] == tagS {
			return &types.AttributeValueMemberS{Value: string(raw)}, rest, nil
		}
		return &types.AttributeValueMemberB{Value: raw}, rest, nil
	case tagNegative, tagZero, tagPositive:
		n, rest, err := decodeNumber(b)
		if err != nil {
			return nil, nil, err
		}
		return &types.AttributeValueMemberN{Value: n.String()}, rest, nil
	}
	return nil, nil, ErrCorrupt
}

// Skip returns the rest of b after its first key value.
func Skip(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, ErrCorrupt
	}
	if b[0] == tagS || b[0] == tagB {
		rest := b[1:]
		for {
			i := bytes.IndexByte(rest, escape)
			if i < 0 || i+1 >= len(rest) {
				return nil, ErrCorrupt
			}
			end := rest[i+1] == terminator
			if rest = rest[i+2:]; end {
				return rest, nil
			}
		}
	}
	_, rest, err := Decode(b)
	return rest, err
}

func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	for {
		i := indexNul(s)
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(append(dst, s[:i]...), escape, escapedNul)
		s = s[i+1:]
	}
}

func indexNul[T string | []byte](s T) int {
	for i := range len(s) {
		if s[i] == escape {
			return i
		}
	}
	return -1
}

func unescape(b []byte) (raw, rest []byte, err error) {
	raw = []byte{}
	for {
		i := bytes.IndexByte(b, escape)
		if i < 0 || i+1 >= len(b) {
			return nil, nil, ErrCorrupt
		}
		raw = append(raw, b[:i]...)
		switch b[i+1] {
		case terminator:
			return raw, b[i+2:], nil
		case escapedNul:
			raw = append(raw, escape)
		default:
			return nil, nil, ErrCorrupt
		}
		b = b[i+2:]
	}
}

func appendNumber(dst []byte, n item.Number) []byte {
	sign := n.Sign()
	if sign == 0 {
		return append(dst, tagZero)
	}
	var buf [2*maxPairs + 2]byte
	digits := buf[1 : 1+len(n.AppendDigits(buf[1:1]))]
	point := len(digits) + n.Exponent() // the number is 0.digits × 10^point
	if point&1 != 0 {                   // pairs are counted from the point, so the first may have a leading zero
		buf[0] = '0'
		digits = buf[:len(digits)+1]
		point++
	}
	if len(digits)&1 != 0 {
		digits = append(digits, '0')
	}
	tag, flip := byte(tagPositive), byte(0)
	if sign < 0 {
		tag, flip = tagNegative, 0xff
	}
	dst = append(dst, tag, byte(point/2+bias)^flip)
	for i := 0; i < len(digits); i += 2 {
		pair := ((digits[i]-'0')*10 + digits[i+1] - '0') * 2
		if i+2 < len(digits) {
			pair++
		}
		dst = append(dst, pair^flip)
	}
	return dst
}

func decodeNumber(b []byte) (n item.Number, rest []byte, err error) {
	if b[0] == tagZero {
		return item.Number{}, b[1:], nil
	}
	flip := byte(0)
	if b[0] == tagNegative {
		flip = 0xff
	}
	var buf [2 * maxPairs]byte
	digits := buf[:0]
	for i := 2; i < len(b) && i < 2+maxPairs; i++ {
		pair := b[i] ^ flip
		if pair > 2*99+1 || (i == 2 && pair < 2) {
			return n, nil, ErrCorrupt
		}
		digits = append(digits, '0'+pair/2/10, '0'+pair/2%10)
		if pair&1 != 0 {
			continue
		}
		exp := 2*(int(b[1]^flip)-bias) - len(digits)
		n, err = item.NumberOf(flip != 0, digits, exp)
		if err != nil || pair == 0 {
			return n, nil, ErrCorrupt
		}
		return n, b[i+1:], nil
	}
	return n, nil, ErrCorrupt
}
