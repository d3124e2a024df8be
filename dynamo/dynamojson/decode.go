package dynamojson

import (
	"unicode/utf8"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/document"
)

// maxDepth bounds how deep brackets may nest. A level of an item's values takes two, and DynamoDB takes 32 of those; what
// is a little deeper is left to the request's own checks.
const maxDepth = 200

// Decode reads one JSON value into v. What it refuses is a smithy.APIError with the code and, for values of the wrong
// type, the message that DynamoDB gives: SerializationException for text that is not UTF-8, not JSON, nested too deep or
// of another shape, ValidationException for an attribute value of several types.
//
// Members that the shape does not have are ignored, null is an absent member, and of a member that is given twice the
// last one counts. An attribute value without a type becomes nil, for the request's own checks to refuse. v shares
// nothing with b; strings of v may share memory with each other, of 64 KiB at most.
func Decode(b []byte, v smithy.Deserializable) error {
	if !utf8.Valid(b) {
		return errSyntax()
	}
	d := decoder{scanner: scanner{src: string(b)}}
	d.open = d.inline[:0]
	if err := v.Deserialize(&d); err != nil {
		return err
	}
	if d.peek() != 0 || d.pos < len(d.src) {
		return errSyntax()
	}
	if d.several {
		return &smithy.GenericAPIError{Code: "ValidationException", Message: severalTypes, Fault: smithy.FaultClient}
	}
	return nil
}

type bracketKind byte

const (
	structure bracketKind = iota + 1
	union
	mapping
	list
)

// bracket is one that is open.
type bracket struct {
	kind   bracketKind
	begun  bool // something was read inside
	schema *smithy.Schema
}

// decoder is a smithy.ShapeDeserializer. The shapes drive it; it keeps which brackets are open.
type decoder struct {
	scanner
	open    []bracket
	several bool // an attribute value had more than one type
	inline  [16]bracket
}

var _ smithy.ShapeDeserializer = (*decoder)(nil)

// enter goes past an opening bracket.
func (d *decoder) enter(kind bracketKind, schema *smithy.Schema) error {
	if len(d.open) == maxDepth {
		return errSyntax()
	}
	d.pos++
	d.open = append(d.open, bracket{kind: kind, schema: schema})
	return nil
}

// more says whether the innermost bracket has more in it, and goes past the comma or the closing bracket.
func (d *decoder) more(end byte) (bool, error) {
	if len(d.open) == 0 {
		return false, errSyntax()
	}
	top := &d.open[len(d.open)-1]
	switch c := d.peek(); {
	case c == end:
		d.pos++
		d.open = d.open[:len(d.open)-1]
		return false, nil
	case !top.begun:
		top.begun = true
		return true, nil
	case c == ',':
		d.pos++
		return true, nil
	}
	return false, errSyntax()
}

// inside says whether the next value is an element of a list or a map rather than a member of a structure.
func (d *decoder) inside() bool {
	return len(d.open) > 0 && (d.open[len(d.open)-1].kind == list || d.open[len(d.open)-1].kind == mapping)
}

// mismatch makes the error of an object or list that something else stands in place of.
func (d *decoder) mismatch(schema *smithy.Schema) error {
	switch c := d.peek(); {
	case c == '{':
		return serialization(unexpectedStructure)
	case c == '[' && schema.Type() == smithy.ShapeTypeMap:
		return serialization("Unrecognized collection type %s", javaType(schema))
	case c == '[':
		return serialization("Unrecognized collection type class %s", javaType(schema))
	}
	if err := d.skip(0); err != nil {
		return err
	}
	switch collection := schema.Type() == smithy.ShapeTypeMap || schema.Type() == smithy.ShapeTypeList; {
	case collection && d.inside():
		return serialization(notAClass)
	case d.inside() || len(d.open) == 0:
		return serialization(unexpectedValue)
	}
	return serialization(unexpectedField)
}

// ReadStruct implements smithy.ShapeDeserializer.
func (d *decoder) ReadStruct(s *smithy.Schema) error {
	if d.peek() != '{' {
		return d.mismatch(s)
	}
	return d.enter(structure, s)
}

// ReadStructMember implements smithy.ShapeDeserializer.
func (d *decoder) ReadStructMember() (*smithy.Schema, error) {
	if len(d.open) == 0 {
		return nil, errSyntax()
	}
	schema := d.open[len(d.open)-1].schema
	for {
		more, err := d.more('}')
		if !more || err != nil {
			return nil, err
		}
		member, err := d.member(schema)
		if member != nil || err != nil {
			return member, err
		}
	}
}

// member reads a member's name and returns its schema, or goes past it and returns nil when it is unknown or null.
func (d *decoder) member(schema *smithy.Schema) (*smithy.Schema, error) {
	name, err := d.key()
	if err != nil {
		return nil, err
	}
	member := schema.Member(name)
	if member == nil {
		return nil, d.skip(maxDepth - len(d.open))
	}
	if d.peek() == 'n' {
		return nil, d.literal("null")
	}
	return member, nil
}

// ReadUnion implements smithy.ShapeDeserializer. It is called again after a member was read, until it returns nil: what
// follows the first member is checked as JSON and counted.
func (d *decoder) ReadUnion(s *smithy.Schema) (*smithy.Schema, error) {
	if n := len(d.open); n > 0 && d.open[n-1].kind == union {
		return nil, d.finishUnion(s)
	}
	if d.peek() != '{' {
		return nil, d.mismatch(s)
	}
	if err := d.enter(union, s); err != nil {
		return nil, err
	}
	return d.ReadStructMember()
}

// finishUnion goes past what follows a union's first member.
func (d *decoder) finishUnion(s *smithy.Schema) error {
	for {
		more, err := d.more('}')
		if !more || err != nil {
			return err
		}
		member, err := d.member(s)
		if err != nil {
			return err
		}
		if member == nil {
			continue
		}
		d.several = true
		if err := d.skip(maxDepth - len(d.open)); err != nil {
			return err
		}
	}
}

// ReadNil implements smithy.ShapeDeserializer. A union without a member is nil, too: the SDK's types would otherwise take
// the value of the element before.
func (d *decoder) ReadNil(s *smithy.Schema) (bool, error) {
	switch c := d.peek(); {
	case c == 'n':
		return true, d.literal("null")
	case c == '{' && s != nil && s.Type() == smithy.ShapeTypeUnion:
		return d.emptyUnion(s)
	}
	return false, nil
}

// emptyUnion goes past a union that has no member. One that has any is left to be read.
func (d *decoder) emptyUnion(s *smithy.Schema) (bool, error) {
	start := d.pos
	if err := d.enter(union, s); err != nil {
		return false, err
	}
	member, err := d.ReadStructMember()
	if err != nil || member == nil {
		return err == nil, err
	}
	d.pos, d.open = start, d.open[:len(d.open)-1]
	return false, nil
}

// ReadList implements smithy.ShapeDeserializer.
func (d *decoder) ReadList(s *smithy.Schema) error {
	if d.peek() != '[' {
		return d.mismatch(s)
	}
	return d.enter(list, s)
}

// ReadListItem implements smithy.ShapeDeserializer. With an error it says that there is an item: smithy looks at the
// error only then.
func (d *decoder) ReadListItem(*smithy.Schema) (bool, error) {
	more, err := d.more(']')
	return more || err != nil, err
}

// ReadMap implements smithy.ShapeDeserializer.
func (d *decoder) ReadMap(s *smithy.Schema) error {
	if d.peek() != '{' {
		return d.mismatch(s)
	}
	return d.enter(mapping, s)
}

// ReadMapKey implements smithy.ShapeDeserializer. With an error it says that there is a key, as ReadListItem does.
func (d *decoder) ReadMapKey(*smithy.Schema) (string, bool, error) {
	more, err := d.more('}')
	if !more || err != nil {
		return "", err != nil, err
	}
	key, err := d.key()
	return key, true, err
}

// ReadDocument implements smithy.ShapeDeserializer. DynamoDB's model has no documents.
func (d *decoder) ReadDocument(*smithy.Schema, *document.Value) error {
	return d.skip(maxDepth - len(d.open))
}
