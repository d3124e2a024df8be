package item

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Decode decodes an item encoded by Append. It keeps no reference to b. For any input it neither
// panics nor uses more memory than a small multiple of the input's length; bytes that Append cannot
// have written are ErrCorrupt.
//
// All names and strings of the item share one copy of the bytes. To keep a single string of a large
// item for long, clone it.
func Decode(b []byte) (Item, error) {
	d := Decoder{size: single}
	return d.Decode(b)
}

// Decoder decodes many items more cheaply than Decode: their strings share blocks of up to 8 KB, so
// keeping one string keeps its block. The zero value is ready to use. It is not safe for concurrent
// use.
type Decoder struct {
	size    slabs
	text    strings.Builder // memory of strings; never grown, because strings handed out point into it
	strings []types.AttributeValueMemberS
	numbers []types.AttributeValueMemberN
}

// slabs are the sizes of allocations.
type slabs struct {
	text   int // bytes
	values int // of each type
}

var (
	single = slabs{text: 0, values: 8}
	many   = slabs{text: 8 << 10, values: 64}
)

// Decode decodes an item, like the function Decode.
func (d *Decoder) Decode(b []byte) (Item, error) {
	if d.size.values == 0 {
		d.size = many
	}
	r, err := open(d.keep(b))
	if err != nil {
		return nil, err
	}
	r.d = d
	it := r.attrs(0)
	if r.bad || r.pos != len(r.s) {
		return nil, ErrCorrupt
	}
	return it, nil
}

// keep returns a copy of b.
func (d *Decoder) keep(b []byte) string {
	if d.text.Cap()-d.text.Len() < len(b) {
		d.text = strings.Builder{}
		d.text.Grow(max(d.size.text, len(b)))
	}
	start := d.text.Len()
	d.text.Write(b)
	return d.text.String()[start:]
}

func (d *Decoder) formatInt(i int64) string {
	if d.size.text == 0 || 0 <= i && i < 100 { // strconv does not allocate for these
		return strconv.FormatInt(i, 10)
	}
	var buf [20]byte
	return d.keep(strconv.AppendInt(buf[:0], i, 10))
}

func (d *Decoder) newString() *types.AttributeValueMemberS {
	if len(d.strings) == 0 {
		d.strings = make([]types.AttributeValueMemberS, d.size.values)
	}
	v := &d.strings[0]
	d.strings = d.strings[1:]
	return v
}

func (d *Decoder) newNumber() *types.AttributeValueMemberN {
	if len(d.numbers) == 0 {
		d.numbers = make([]types.AttributeValueMemberN, d.size.values)
	}
	v := &d.numbers[0]
	d.numbers = d.numbers[1:]
	return v
}

// Lookup decodes one top-level attribute of an encoded item, and reports whether the item has it.
// It does not decode other attributes and stops at the name's place in the order.
func Lookup(b []byte, name string) (types.AttributeValue, bool, error) {
	start, end, ok, err := find(b, name)
	if err != nil || !ok {
		return nil, false, err
	}
	r := reader[string]{s: string(b[start:end]), d: &Decoder{size: slabs{values: 1}}}
	av := r.value(0)
	if r.bad {
		return nil, false, ErrCorrupt
	}
	return av, true, nil
}

// LookupString returns the bytes of a top-level string attribute, as part of b. It does not
// allocate.
func LookupString(b []byte, name string) (value []byte, ok bool, err error) {
	start, end, ok, err := find(b, name)
	if err != nil || !ok {
		return nil, false, err
	}
	r := reader[[]byte]{s: b[start:end]}
	if r.tag() != tagS {
		return nil, false, nil
	}
	value = r.text()
	if r.bad {
		return nil, false, ErrCorrupt
	}
	return value, true, nil
}

// DecodeOnly decodes the named top-level attributes of an encoded item, as far as they exist, in a
// single pass.
func DecodeOnly(b []byte, names []string) (Item, error) {
	r, err := open(b)
	if err != nil {
		return nil, err
	}
	d := &Decoder{size: single}
	names = inOrder(names, strings.Compare)
	it := make(Item, len(names))
	for range r.count(2) {
		key := r.text()
		for len(names) > 0 && names[0] < string(key) {
			names = names[1:]
		}
		if len(names) == 0 || r.bad {
			break
		}
		start := r.pos
		r.skip()
		if names[0] != string(key) {
			continue
		}
		v := reader[string]{s: string(b[start:r.pos]), d: d}
		it[names[0]] = v.value(0)
		r.bad = r.bad || v.bad
	}
	if r.bad {
		return nil, ErrCorrupt
	}
	return it, nil
}

// find returns the position of the value of a top-level attribute.
func find(b []byte, name string) (start, end int, ok bool, err error) {
	r, err := open(b)
	if err != nil {
		return 0, 0, false, err
	}
	for range r.count(2) {
		key := r.text()
		start = r.pos
		if string(key) > name {
			break
		}
		r.skip()
		if r.bad {
			break
		}
		if string(key) == name {
			return start, r.pos, true, nil
		}
	}
	if r.bad {
		return 0, 0, false, ErrCorrupt
	}
	return 0, 0, false, nil
}

// reader reads encoded bytes. After the first error it is bad and returns zero values.
type reader[T string | []byte] struct {
	s   T
	pos int
	bad bool

	d *Decoder // allocates the values
}

func open[T string | []byte](s T) (reader[T], error) {
	if len(s) == 0 || s[0] != version {
		return reader[T]{}, ErrCorrupt
	}
	return reader[T]{s: s, pos: 1}, nil
}

func (r *reader[T]) fail() { r.bad, r.pos = true, len(r.s) }

func (r *reader[T]) uvarint() uint64 {
	if r.pos < len(r.s) && r.s[r.pos] < 0x80 {
		r.pos++
		return uint64(r.s[r.pos-1])
	}
	var x uint64
	for shift := uint(0); shift < 64 && r.pos < len(r.s); shift += 7 {
		c := r.s[r.pos]
		r.pos++
		if c < 0x80 {
			if shift == 63 && c > 1 {
				break
			}
			return x | uint64(c)<<shift
		}
		x |= uint64(c&0x7f) << shift
	}
	r.fail()
	return 0
}

// count reads a number of elements, each of which takes at least size bytes. The check prevents
// large allocations for corrupt counts.
func (r *reader[T]) count(size int) int {
	n := r.uvarint()
	if n > uint64((len(r.s)-r.pos)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader[T]) text() T {
	n := r.uvarint()
	if n > uint64(len(r.s)-r.pos) {
		r.fail()
		return r.s[:0]
	}
	start := r.pos
	r.pos += int(n)
	return r.s[start:r.pos]
}

func (r *reader[T]) tag() byte {
	if r.pos >= len(r.s) {
		r.fail()
		return 0
	}
	r.pos++
	return r.s[r.pos-1]
}

// skip skips one value. Values longer than a number start with their length.
func (r *reader[T]) skip() {
	switch r.tag() {
	case tagS, tagB, tagM, tagL, tagSS, tagNS, tagBS:
		r.text()
	case tagInt:
		r.uvarint()
	case tagDecimal:
		r.uvarint()
		r.uvarint()
		r.uvarint()
	case tagFalse, tagTrue, tagNull:
	default:
		r.fail()
	}
}

func (r *reader[T]) number() Number {
	switch r.tag() {
	case tagInt:
		return IntNumber(r.int())
	case tagDecimal:
		return r.decimal()
	}
	r.fail()
	return Number{}
}

func (r *reader[T]) int() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *reader[T]) decimal() Number {
	head, lo, hi := r.uvarint(), r.uvarint(), r.uvarint()
	z := head >> 1
	exp := int64(z>>1) ^ -int64(z&1)
	if head > 1<<12 || exp < minMagnitude-maxDigits || exp > maxMagnitude {
		r.fail()
		return Number{}
	}
	n, err := canonical(head&1 != 0, hi, lo, int(exp)).checked()
	if err != nil {
		r.fail()
	}
	return n
}

func (r *reader[T]) attrs(depth int) Item {
	n := r.count(2)
	m := make(Item, n)
	for range n {
		name := string(r.text())
		m[name] = r.value(depth)
		if r.bad {
			return nil
		}
	}
	return m
}

// value decodes one value. depth is the number of enclosing lists and maps.
func (r *reader[T]) value(depth int) types.AttributeValue {
	switch tag := r.tag(); tag {
	case tagS:
		v := r.d.newString()
		v.Value = string(r.text())
		return v
	case tagB:
		return &types.AttributeValueMemberB{Value: []byte(r.text())}
	case tagInt:
		v := r.d.newNumber()
		v.Value = r.d.formatInt(r.int())
		return v
	case tagDecimal:
		v := r.d.newNumber()
		v.Value = r.decimal().String()
		return v
	case tagFalse, tagTrue:
		return &types.AttributeValueMemberBOOL{Value: tag == tagTrue}
	case tagNull:
		return &types.AttributeValueMemberNULL{Value: true}
	case tagM, tagL, tagSS, tagNS, tagBS:
		return r.container(tag, depth+1)
	}
	r.fail()
	return nil
}

func (r *reader[T]) container(tag byte, depth int) types.AttributeValue {
	if depth >= MaxNesting {
		r.fail()
		return nil
	}
	body := reader[T]{s: r.text(), d: r.d}
	var av types.AttributeValue
	switch tag {
	case tagM:
		av = &types.AttributeValueMemberM{Value: body.attrs(depth)}
	case tagL:
		av = &types.AttributeValueMemberL{Value: members(&body, 1, func() types.AttributeValue { return body.value(depth) })}
	case tagSS:
		av = &types.AttributeValueMemberSS{Value: members(&body, 1, func() string { return string(body.text()) })}
	case tagNS:
		av = &types.AttributeValueMemberNS{Value: members(&body, 2, func() string { return body.number().String() })}
	case tagBS:
		av = &types.AttributeValueMemberBS{Value: members(&body, 1, func() []byte { return []byte(body.text()) })}
	}
	if body.bad || body.pos != len(body.s) {
		r.fail()
	}
	return av
}

// members reads a count and that many elements of at least size bytes.
func members[E any, T string | []byte](r *reader[T], size int, next func() E) []E {
	n := r.count(size)
	out := make([]E, 0, n)
	for range n {
		out = append(out, next())
		if r.bad {
			return nil
		}
	}
	return out
}
