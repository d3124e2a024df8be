package dynamojson

import (
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// DecodeInput decodes one JSON object into in, a pointer to one of the SDK's inputs. Decode cannot
// do this, because the SDK never reads its inputs, so they have no Deserialize method.
func DecodeInput(b []byte, in smithy.Serializable) error {
	return Decode(b, &input{schema: schemaOf(in), fields: reflect.ValueOf(in).Elem()})
}

// schemaOf returns the schema of a structure, which the structure passes first to a serializer.
func schemaOf(v smithy.Serializable) *smithy.Schema {
	s := schemaFinder{}
	v.Serialize(&s)
	return s.schema
}

// schemaFinder keeps the first schema of a structure and discards everything else.
type schemaFinder struct {
	encoder
	schema *smithy.Schema
}

// WriteStruct implements smithy.ShapeSerializer.
func (f *schemaFinder) WriteStruct(s *smithy.Schema) {
	if f.schema == nil {
		f.schema = s
	}
	f.encoder.WriteStruct(s)
}

// input adds a Deserialize method to an SDK input: a member is decoded into the field of the same
// name.
type input struct {
	schema *smithy.Schema
	fields reflect.Value
}

// Deserialize implements smithy.Deserializable.
func (in *input) Deserialize(d smithy.ShapeDeserializer) error {
	return smithy.ReadStruct(d, in.schema, func(member *smithy.Schema) error {
		field := in.fields.FieldByName(member.MemberName())
		if !field.IsValid() {
			return fmt.Errorf("dynamojson: %s has no field %s", in.fields.Type(), member.MemberName())
		}
		return readValue(d, member, field)
	})
}

// readValue decodes a value of a Go type used in the SDK's inputs.
func readValue(d smithy.ShapeDeserializer, s *smithy.Schema, v reflect.Value) error {
	switch p := v.Addr().Interface().(type) {
	case *map[string]types.AttributeValue:
		var m types.AttributeValueMemberM
		err := m.Deserialize(d)
		*p = m.Value
		return err
	case *[]types.AttributeValue:
		var l types.AttributeValueMemberL
		err := l.Deserialize(d)
		*p = l.Value
		return err
	case *time.Time:
		return d.ReadTime(s, p)
	case *[]byte:
		return d.ReadBlob(s, p)
	case smithy.Deserializable:
		return p.Deserialize(d)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return readValue(d, s, v.Elem())
	case reflect.Slice:
		return readSlice(d, s, v)
	case reflect.Map:
		return readMap(d, s, v)
	}
	return readScalar(d, s, v)
}

func readScalar(d smithy.ShapeDeserializer, s *smithy.Schema, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String: // strings and enumerations
		var text string
		err := d.ReadString(s, &text)
		v.SetString(text)
		return err
	case reflect.Bool:
		var b bool
		err := d.ReadBool(s, &b)
		v.SetBool(b)
		return err
	case reflect.Int32:
		var n int32
		err := d.ReadInt32(s, &n)
		v.SetInt(int64(n))
		return err
	case reflect.Int64:
		var n int64
		err := d.ReadInt64(s, &n)
		v.SetInt(n)
		return err
	case reflect.Float64:
		var f float64
		err := d.ReadFloat64(s, &f)
		v.SetFloat(f)
		return err
	}
	return fmt.Errorf("dynamojson: no input has had a %s", v.Type())
}

func readSlice(d smithy.ShapeDeserializer, s *smithy.Schema, v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	return smithy.ReadList(d, s, func() error {
		element, err := readElement(d, s.ListMember(), v.Type().Elem())
		if err == nil {
			v.Set(reflect.Append(v, element))
		}
		return err
	})
}

func readMap(d smithy.ShapeDeserializer, s *smithy.Schema, v reflect.Value) error {
	v.Set(reflect.MakeMap(v.Type()))
	return smithy.ReadMap(d, s, func(key string) error {
		element, err := readElement(d, s.MapValue(), v.Type().Elem())
		if err == nil {
			v.SetMapIndex(reflect.ValueOf(key), element)
		}
		return err
	})
}

// readElement decodes an element of a list or map. Null becomes the zero value, which the checks of
// the request reject.
func readElement(d smithy.ShapeDeserializer, s *smithy.Schema, t reflect.Type) (reflect.Value, error) {
	element := reflect.New(t).Elem()
	if null, err := d.ReadNil(s); null || err != nil {
		return element, err
	}
	return element, readValue(d, s, element)
}
