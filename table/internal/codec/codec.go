package codec

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A codec converts between values of one Go type and attribute values. Codecs are made once per
// type. They produce the same as the SDK's attributevalue package, except that times have a fixed
// width and milliseconds.
type codec struct {
	encode func(*Encoder, reflect.Value) (types.AttributeValue, error)
	decode func(types.AttributeValue, reflect.Value) error // the value must be addressable and zero; NULL leaves it zero
}

// An Encoder allocates the attribute values and texts of one item in slabs, because an item has
// tens of them with the same lifetime.
type Encoder struct {
	strings []types.AttributeValueMemberS
	numbers []types.AttributeValueMemberN
	made    strings.Builder
	ahead   int // bytes of text to allocate at once
}

// Slab is the number of values allocated at once.
const Slab = 8

// NewEncoder returns an encoder with room for the given number of strings and bytes of text.
func NewEncoder(stringsAhead, textAhead int) *Encoder {
	return &Encoder{strings: make([]types.AttributeValueMemberS, stringsAhead), ahead: textAhead}
}

// Text returns b as a string.
func (e *Encoder) Text(b []byte) string {
	if e.made.Cap()-e.made.Len() < len(b) { // never grow a slab: strings handed out point into it
		e.made = strings.Builder{}
		e.made.Grow(max(e.ahead, len(b)))
	}
	start := e.made.Len()
	e.made.Write(b)
	return e.made.String()[start:]
}

// String returns an S.
func (e *Encoder) String(s string) types.AttributeValue {
	if len(e.strings) == 0 {
		e.strings = make([]types.AttributeValueMemberS, Slab)
	}
	av := &e.strings[0]
	e.strings = e.strings[1:]
	av.Value = s
	return av
}

// Number returns an N.
func (e *Encoder) Number(s string) types.AttributeValue {
	if len(e.numbers) == 0 {
		e.numbers = make([]types.AttributeValueMemberN, Slab)
	}
	av := &e.numbers[0]
	e.numbers = e.numbers[1:]
	av.Value = s
	return av
}

// null returns a NULL.
func null() types.AttributeValue { return &types.AttributeValueMemberNULL{Value: true} }

func isNull(av types.AttributeValue) bool {
	n, ok := av.(*types.AttributeValueMemberNULL)
	return ok && n.Value
}

func mismatch(av types.AttributeValue, want string) error {
	if isNull(av) {
		return nil
	}
	return fmt.Errorf("attribute is a %T, want %s", av, want)
}

var (
	timeType        = reflect.TypeFor[time.Time]()
	marshalerType   = reflect.TypeFor[attributevalue.Marshaler]()
	unmarshalerType = reflect.TypeFor[attributevalue.Unmarshaler]()
	numberType      = reflect.TypeFor[attributevalue.Number]()
)

// custom reports whether a type implements its own encoding.
func custom(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(marshalerType) || p.Implements(unmarshalerType)
}

func (c *Compiler) codec(t reflect.Type) *codec {
	if known := c.codecs[t]; known != nil {
		return known
	}
	made := &codec{}
	c.codecs[t] = made // before its parts, because a type may contain itself
	*made = c.build(t)
	return made
}

func (c *Compiler) build(t reflect.Type) codec {
	if custom(t) {
		return customCodec(t)
	}
	switch kind := t.Kind(); {
	case t == timeType:
		return codec{encodeTime, decodeTime}
	case t == numberType:
		return codec{encodeNumber, decodeNumber}
	case kind == reflect.String:
		return codec{encodeString, decodeString}
	case kind == reflect.Bool:
		return codec{encodeBool, decodeBool}
	case kind >= reflect.Int && kind <= reflect.Int64:
		return codec{encodeInt, decodeInt}
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		return codec{encodeUint, decodeUint}
	case kind == reflect.Float32 || kind == reflect.Float64:
		return codec{encodeFloat, decodeFloat}
	case kind == reflect.Pointer:
		return c.pointerCodec(t)
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return codec{encodeBytes, decodeBytes}
	case kind == reflect.Slice:
		return c.sliceCodec(t)
	case kind == reflect.Map && t.Key().Kind() == reflect.String && !custom(t.Key()):
		return c.mapCodec(t)
	case kind == reflect.Struct:
		return c.structCodec(t)
	case kind == reflect.Chan || kind == reflect.Func || kind == reflect.UnsafePointer:
		c.fail("type %s cannot be stored", t)
	}
	return fallbackCodec()
}

func encodeString(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
	return e.String(v.String()), nil
}

func decodeString(av types.AttributeValue, v reflect.Value) error {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return mismatch(av, "S")
	}
	v.SetString(s.Value)
	return nil
}

func encodeNumber(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
	if v.String() == "" {
		return e.Number("0"), nil
	}
	return e.Number(v.String()), nil
}

func decodeNumber(av types.AttributeValue, v reflect.Value) error {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return mismatch(av, "N")
	}
	v.SetString(n.Value)
	return nil
}

func encodeBool(_ *Encoder, v reflect.Value) (types.AttributeValue, error) {
	return &types.AttributeValueMemberBOOL{Value: v.Bool()}, nil
}

func decodeBool(av types.AttributeValue, v reflect.Value) error {
	b, ok := av.(*types.AttributeValueMemberBOOL)
	if !ok {
		return mismatch(av, "BOOL")
	}
	v.SetBool(b.Value)
	return nil
}

func encodeInt(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
	var buf [20]byte
	return e.Number(e.Text(strconv.AppendInt(buf[:0], v.Int(), 10))), nil
}

func decodeInt(av types.AttributeValue, v reflect.Value) error {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return mismatch(av, "N")
	}
	i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
	if err != nil {
		return fmt.Errorf("number %q is not an %s", n.Value, v.Type())
	}
	v.SetInt(i)
	return nil
}

func encodeUint(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
	var buf [20]byte
	return e.Number(e.Text(strconv.AppendUint(buf[:0], v.Uint(), 10))), nil
}

func decodeUint(av types.AttributeValue, v reflect.Value) error {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return mismatch(av, "N")
	}
	i, err := strconv.ParseUint(n.Value, 10, v.Type().Bits())
	if err != nil {
		return fmt.Errorf("number %q is not an %s", n.Value, v.Type())
	}
	v.SetUint(i)
	return nil
}

func encodeFloat(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
	f := v.Float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not a number that can be stored", f)
	}
	var buf [32]byte
	return e.Number(e.Text(strconv.AppendFloat(buf[:0], f, 'g', -1, v.Type().Bits()))), nil
}

func decodeFloat(av types.AttributeValue, v reflect.Value) error {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return mismatch(av, "N")
	}
	f, err := strconv.ParseFloat(n.Value, v.Type().Bits())
	if err != nil {
		return fmt.Errorf("number %q is not a %s", n.Value, v.Type())
	}
	v.SetFloat(f)
	return nil
}

func encodeBytes(_ *Encoder, v reflect.Value) (types.AttributeValue, error) {
	if v.IsNil() {
		return null(), nil
	}
	return &types.AttributeValueMemberB{Value: v.Bytes()}, nil
}

func decodeBytes(av types.AttributeValue, v reflect.Value) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok {
		return mismatch(av, "B")
	}
	v.SetBytes(b.Value)
	return nil
}

func encodeTime(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
	t := *v.Addr().Interface().(*time.Time)
	if !YearFits(t) {
		return nil, fmt.Errorf("time %v: the year has more than four digits", t)
	}
	var buf [len(MSLayout)]byte
	return e.String(e.Text(AppendMS(buf[:0], t))), nil
}

func decodeTime(av types.AttributeValue, v reflect.Value) error {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return mismatch(av, "S")
	}
	t, err := ParseTime(s.Value)
	if err != nil {
		return err
	}
	*v.Addr().Interface().(*time.Time) = t
	return nil
}

// unixCodec stores times as numbers: seconds or milliseconds since 1970.
func unixCodec(milliseconds bool) *codec {
	to, from := time.Time.Unix, func(n int64) time.Time { return time.Unix(n, 0) }
	if milliseconds {
		to, from = time.Time.UnixMilli, time.UnixMilli
	}
	return &codec{
		encode: func(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
			var buf [20]byte
			return e.Number(e.Text(strconv.AppendInt(buf[:0], to(*v.Addr().Interface().(*time.Time)), 10))), nil
		},
		decode: func(av types.AttributeValue, v reflect.Value) error {
			n, ok := av.(*types.AttributeValueMemberN)
			if !ok {
				return mismatch(av, "N")
			}
			i, err := strconv.ParseInt(n.Value, 10, 64)
			if err != nil {
				return fmt.Errorf("number %q is not a Unix time", n.Value)
			}
			*v.Addr().Interface().(*time.Time) = from(i).UTC()
			return nil
		},
	}
}
