package dynamojson

import (
	"bytes"
	"encoding/base64"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/document"
)

// Append appends v as compact JSON to dst and returns the extended buffer. Nil members are omitted;
// empty maps and lists that are not nil are included. Blobs are base64. Times are seconds since
// 1970 as a number, with milliseconds unless they are zero. Invalid UTF-8 in strings becomes
// U+FFFD.
func Append(dst []byte, v smithy.Serializable) []byte {
	e := encoder{buf: dst, start: len(dst)}
	e.objects = e.inline[:0]
	v.Serialize(&e)
	return e.buf
}

// AppendOrdered is Append with sorted map keys, so that equal values have equal bytes. It is
// slightly slower.
func AppendOrdered(dst []byte, v smithy.Serializable) []byte {
	e := encoder{buf: dst, start: len(dst), ordered: true}
	e.objects = e.inline[:0]
	v.Serialize(&e)
	return e.buf
}

// encoder is a smithy.ShapeSerializer. A comma is required unless the last byte written is an
// opening bracket.
type encoder struct {
	buf     []byte
	start   int
	objects []bool // for each open bracket, whether it is of an object
	keyed   bool   // the key of the next value has been written
	inline  [32]bool

	ordered bool
	maps    []int // for each open map, the index of its first entry in entries
	entries []int // for each entry of an open map, its start in buf
}

var _ smithy.ShapeSerializer = (*encoder)(nil)

// Bytes implements smithy.ShapeSerializer.
func (e *encoder) Bytes() []byte { return e.buf[e.start:] }

func (e *encoder) comma() {
	if len(e.buf) == e.start {
		return
	}
	if last := e.buf[len(e.buf)-1]; last != '{' && last != '[' {
		e.buf = append(e.buf, ',')
	}
}

// before writes what precedes a value: a comma and, in a structure, the member's name.
func (e *encoder) before(schema *smithy.Schema) {
	if e.keyed {
		e.keyed = false
		return
	}
	e.comma()
	if n := len(e.objects); n > 0 && e.objects[n-1] {
		e.name(schema)
	}
}

// name writes the name of a member. Names in the model need no escaping.
func (e *encoder) name(schema *smithy.Schema) {
	e.buf = append(e.buf, '"')
	if schema != nil {
		e.buf = append(e.buf, schema.MemberName()...)
	}
	e.buf = append(e.buf, '"', ':')
}

func (e *encoder) open(schema *smithy.Schema, bracket byte) {
	e.before(schema)
	e.buf = append(e.buf, bracket)
	e.objects = append(e.objects, bracket == '{')
}

func (e *encoder) close(bracket byte) {
	e.finishKey()
	e.buf = append(e.buf, bracket)
	e.objects = e.objects[:len(e.objects)-1]
}

// finishKey writes null for a key without a value, because a nil AttributeValue writes nothing.
func (e *encoder) finishKey() {
	if e.keyed {
		e.keyed = false
		e.buf = append(e.buf, "null"...)
	}
}

// WriteStruct implements smithy.ShapeSerializer.
func (e *encoder) WriteStruct(schema *smithy.Schema) { e.open(schema, '{') }

// CloseStruct implements smithy.ShapeSerializer.
func (e *encoder) CloseStruct() { e.close('}') }

// WriteMap implements smithy.ShapeSerializer.
func (e *encoder) WriteMap(schema *smithy.Schema) {
	e.open(schema, '{')
	if e.ordered {
		e.maps = append(e.maps, len(e.entries))
	}
}

// CloseMap implements smithy.ShapeSerializer.
func (e *encoder) CloseMap() {
	e.finishKey()
	if e.ordered {
		e.sortEntries()
	}
	e.close('}')
}

// sortEntries sorts the entries of the innermost map, which are adjacent and separated by commas.
func (e *encoder) sortEntries() {
	last := len(e.maps) - 1
	starts := e.entries[e.maps[last]:]
	e.entries, e.maps = e.entries[:e.maps[last]], e.maps[:last]
	if len(starts) < 2 {
		return
	}
	text := slices.Clone(e.buf[starts[0]:])
	parts := make([][]byte, len(starts))
	for i, start := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1] - starts[0] - 1
		}
		parts[i] = text[start-starts[0] : end]
	}
	slices.SortFunc(parts, bytes.Compare)
	e.buf = append(e.buf[:starts[0]], bytes.Join(parts, []byte{','})...)
}

// WriteList implements smithy.ShapeSerializer.
func (e *encoder) WriteList(schema *smithy.Schema) { e.open(schema, '[') }

// CloseList implements smithy.ShapeSerializer.
func (e *encoder) CloseList() { e.close(']') }

// WriteUnion implements smithy.ShapeSerializer.
func (e *encoder) WriteUnion(schema, variant *smithy.Schema) {
	e.open(schema, '{')
	e.name(variant)
	e.keyed = true
}

// CloseUnion implements smithy.ShapeSerializer.
func (e *encoder) CloseUnion() { e.close('}') }

// WriteKey implements smithy.ShapeSerializer.
func (e *encoder) WriteKey(_ *smithy.Schema, key string) {
	e.finishKey()
	e.comma()
	if e.ordered {
		e.entries = append(e.entries, len(e.buf))
	}
	e.buf = append(appendString(e.buf, key), ':')
	e.keyed = true
}

// WriteNil implements smithy.ShapeSerializer.
func (e *encoder) WriteNil(schema *smithy.Schema) {
	e.before(schema)
	e.buf = append(e.buf, "null"...)
}

// WriteBool implements smithy.ShapeSerializer.
func (e *encoder) WriteBool(schema *smithy.Schema, v bool) {
	e.before(schema)
	e.buf = strconv.AppendBool(e.buf, v)
}

// WriteInt8 implements smithy.ShapeSerializer.
func (e *encoder) WriteInt8(schema *smithy.Schema, v int8) { e.WriteInt64(schema, int64(v)) }

// WriteInt16 implements smithy.ShapeSerializer.
func (e *encoder) WriteInt16(schema *smithy.Schema, v int16) { e.WriteInt64(schema, int64(v)) }

// WriteInt32 implements smithy.ShapeSerializer.
func (e *encoder) WriteInt32(schema *smithy.Schema, v int32) { e.WriteInt64(schema, int64(v)) }

// WriteInt64 implements smithy.ShapeSerializer.
func (e *encoder) WriteInt64(schema *smithy.Schema, v int64) {
	e.before(schema)
	e.buf = strconv.AppendInt(e.buf, v, 10)
}

// WriteFloat32 implements smithy.ShapeSerializer.
func (e *encoder) WriteFloat32(schema *smithy.Schema, v float32) { e.float(schema, float64(v), 32) }

// WriteFloat64 implements smithy.ShapeSerializer.
func (e *encoder) WriteFloat64(schema *smithy.Schema, v float64) { e.float(schema, v, 64) }

// float writes a number with a fraction (1.0), because clients without static types would read 1 as
// an integer.
func (e *encoder) float(schema *smithy.Schema, v float64, bits int) {
	e.before(schema)
	switch {
	case math.IsNaN(v):
		e.buf = append(e.buf, `"NaN"`...)
	case math.IsInf(v, 1):
		e.buf = append(e.buf, `"Infinity"`...)
	case math.IsInf(v, -1):
		e.buf = append(e.buf, `"-Infinity"`...)
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		e.buf = strconv.AppendFloat(e.buf, v, 'f', 1, bits)
	default:
		e.buf = strconv.AppendFloat(e.buf, v, 'g', -1, bits)
	}
}

// WriteString implements smithy.ShapeSerializer.
func (e *encoder) WriteString(schema *smithy.Schema, v string) {
	e.before(schema)
	e.buf = appendString(e.buf, v)
}

// WriteBlob implements smithy.ShapeSerializer.
func (e *encoder) WriteBlob(schema *smithy.Schema, v []byte) {
	e.before(schema)
	e.buf = append(e.buf, '"')
	e.buf = base64.StdEncoding.AppendEncode(e.buf, v)
	e.buf = append(e.buf, '"')
}

// WriteTime implements smithy.ShapeSerializer.
func (e *encoder) WriteTime(schema *smithy.Schema, v time.Time) {
	e.before(schema)
	e.buf = appendEpoch(e.buf, v)
}

// appendEpoch writes seconds since 1970, with milliseconds if they are not zero.
func appendEpoch(dst []byte, v time.Time) []byte {
	millis := v.UnixMilli()
	if millis < 0 {
		dst, millis = append(dst, '-'), -millis
	}
	dst = strconv.AppendInt(dst, millis/1000, 10)
	if rest := millis % 1000; rest != 0 {
		dst = append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
	return dst
}

// WriteBigInt implements smithy.ShapeSerializer.
func (e *encoder) WriteBigInt(schema *smithy.Schema, v *big.Int) {
	e.before(schema)
	e.buf = v.Append(e.buf, 10)
}

// WriteBigFloat implements smithy.ShapeSerializer.
func (e *encoder) WriteBigFloat(schema *smithy.Schema, v *big.Float) {
	e.before(schema)
	e.buf = v.Append(e.buf, 'g', -1)
}

// WriteDocument implements smithy.ShapeSerializer. DynamoDB's model does not contain documents.
func (e *encoder) WriteDocument(schema *smithy.Schema, _ document.Value) { e.WriteNil(schema) }
