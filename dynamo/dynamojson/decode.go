package dynamojson

import (
	"unicode/utf8"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/document"
)

// maxDepth limits the nesting of brackets. Each of DynamoDB's 32 levels of values takes two;
// slightly deeper input is left to the checks of the request.
const maxDepth = 200

// Decode decodes one JSON value into v. Errors are smithy.APIErrors with DynamoDB's codes and, for
// values of the wrong type, DynamoDB's messages: SerializationException for text that is not UTF-8,
// not JSON, nested too deeply or of the wrong shape, and ValidationException for an attribute value
// with several types.
//
// Unknown members are ignored, null counts as absent, and the last of repeated members counts. An
// attribute value without a type becomes nil, which the checks of the request reject. v shares no
// memory with b; strings in v may share memory with each other, up to 64 KiB.
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

// bracket is an open bracket.
type bracket struct {
	kind   bracketKind
	begun  bool // something was read inside
	schema *smithy.Schema
}

// decoder is a smithy.ShapeDeserializer. The shapes drive it; it tracks the open brackets.
type decoder struct {
	scanner
	open    []bracket
	several bool // an attribute value had several types
	inline  [16]bracket
}

var _ smithy.ShapeDeserializer = (*decoder)(nil)

// enter consumes an opening bracket.
func (d *decoder) enter(kind bracketKind, schema *smithy.Schema) error {
	if len(d.open) == maxDepth {
		return errSyntax()
	}
	d.pos++
	d.open = append(d.open, bracket{kind: kind, schema: schema})
	return nil
}

// more reports whether the innermost bracket contains more, and consumes the comma or the closing
// bracket.
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

// inside reports whether the next value is an element of a list or map, not a member of a
// structure.
func (d *decoder) inside() bool {
	return len(d.open) > 0 && (d.open[len(d.open)-1].kind == list || d.open[len(d.open)-1].kind == mapping)
}

// mismatch returns the error for a value in place of an object or list.
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

// member reads a member's name and returns its schema. If the member is unknown or null, it skips
// it and returns nil.
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

// ReadUnion implements smithy.ShapeDeserializer. After a member was read, it is called again and
// returns nil; the remaining members are then only checked as JSON and counted.
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

// finishUnion skips the members of a union after the first.
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

// ReadNil implements smithy.ShapeDeserializer. A union without members also counts as nil, because
// the SDK's types would otherwise reuse the previous element's value.
func (d *decoder) ReadNil(s *smithy.Schema) (bool, error) {
	switch c := d.peek(); {
	case c == 'n':
		return true, d.literal("null")
	case c == '{' && s != nil && s.Type() == smithy.ShapeTypeUnion:
		return d.emptyUnion(s)
	}
	return false, nil
}

// emptyUnion consumes a union without members. It does not consume one with members.
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

// ReadListItem implements smithy.ShapeDeserializer. In case of an error it also returns true,
// because smithy looks at the error only then.
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

// ReadMapKey implements smithy.ShapeDeserializer. In case of an error it also returns true, as in
// ReadListItem.
func (d *decoder) ReadMapKey(*smithy.Schema) (string, bool, error) {
	more, err := d.more('}')
	if !more || err != nil {
		return "", err != nil, err
	}
	key, err := d.key()
	return key, true, err
}

// ReadDocument implements smithy.ShapeDeserializer. DynamoDB's model does not contain documents.
func (d *decoder) ReadDocument(*smithy.Schema, *document.Value) error {
	return d.skip(maxDepth - len(d.open))
}
