package codec

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (c *Compiler) pointerCodec(t reflect.Type) codec {
	elem := c.codec(t.Elem())
	return codec{
		encode: func(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
			if v.IsNil() {
				return null(), nil
			}
			return elem.encode(e, v.Elem())
		},
		decode: func(av types.AttributeValue, v reflect.Value) error {
			if isNull(av) {
				return nil
			}
			v.Set(reflect.New(t.Elem()))
			return elem.decode(av, v.Elem())
		},
	}
}

func (c *Compiler) sliceCodec(t reflect.Type) codec {
	elem := c.codec(t.Elem())
	return codec{
		encode: func(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
			if v.IsNil() {
				return null(), nil
			}
			list := make([]types.AttributeValue, v.Len())
			for i := range list {
				var err error
				if list[i], err = elem.encode(e, v.Index(i)); err != nil {
					return nil, fmt.Errorf("[%d]: %w", i, err)
				}
			}
			return &types.AttributeValueMemberL{Value: list}, nil
		},
		decode: func(av types.AttributeValue, v reflect.Value) error {
			l, ok := av.(*types.AttributeValueMemberL)
			if !ok {
				return mismatch(av, "L")
			}
			v.Set(reflect.MakeSlice(t, len(l.Value), len(l.Value)))
			for i, item := range l.Value {
				if err := elem.decode(item, v.Index(i)); err != nil {
					return fmt.Errorf("[%d]: %w", i, err)
				}
			}
			return nil
		},
	}
}

// mapCodec is for maps with string keys. It reuses one addressable copy for all values.
func (c *Compiler) mapCodec(t reflect.Type) codec {
	elem := c.codec(t.Elem())
	return codec{
		encode: func(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
			if v.IsNil() {
				return null(), nil
			}
			m := make(map[string]types.AttributeValue, v.Len())
			value := reflect.New(t.Elem()).Elem()
			for it := v.MapRange(); it.Next(); {
				if it.Key().Len() == 0 {
					return nil, errors.New("a map has an empty key, which cannot be stored")
				}
				value.SetIterValue(it)
				av, err := elem.encode(e, value)
				if err != nil {
					return nil, fmt.Errorf("[%q]: %w", it.Key().String(), err)
				}
				m[it.Key().String()] = av
			}
			return &types.AttributeValueMemberM{Value: m}, nil
		},
		decode: func(av types.AttributeValue, v reflect.Value) error {
			m, ok := av.(*types.AttributeValueMemberM)
			if !ok {
				return mismatch(av, "M")
			}
			made := reflect.MakeMapWithSize(t, len(m.Value))
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			for name, item := range m.Value {
				value.SetZero()
				if err := elem.decode(item, value); err != nil {
					return fmt.Errorf("[%q]: %w", name, err)
				}
				key.SetString(name)
				made.SetMapIndex(key, value)
			}
			v.Set(made)
			return nil
		},
	}
}

func (c *Compiler) structCodec(t reflect.Type) codec {
	p := c.Plan(t)
	return codec{
		encode: func(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
			m := make(map[string]types.AttributeValue, len(p.Fields))
			if err := p.Encode(e, v, m); err != nil {
				return nil, err
			}
			return &types.AttributeValueMemberM{Value: m}, nil
		},
		decode: func(av types.AttributeValue, v reflect.Value) error {
			m, ok := av.(*types.AttributeValueMemberM)
			if !ok {
				return mismatch(av, "M")
			}
			return p.Decode(m.Value, v)
		},
	}
}

// Count returns how many attributes Encode will write. A map of the exact size costs half as much
// as one that is too large.
func (p *Plan) Count(v reflect.Value) int {
	n := 0
	for i := range p.Fields {
		if f := &p.Fields[i]; !f.OmitEmpty || !Empty(At(v, f.Index)) {
			n++
		}
	}
	return n
}

// Encode writes the attributes of a struct to an item.
func (p *Plan) Encode(e *Encoder, v reflect.Value, into map[string]types.AttributeValue) error {
	for i := range p.Fields {
		f := &p.Fields[i]
		fv := At(v, f.Index)
		if f.OmitEmpty && Empty(fv) {
			continue
		}
		av, err := f.codec.encode(e, fv)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		into[f.Name] = av
	}
	return nil
}

// Decode sets the fields of a struct, which must be addressable and zero, from the attributes of an
// item.
func (p *Plan) Decode(from map[string]types.AttributeValue, v reflect.Value) error {
	for i := range p.Fields {
		f := &p.Fields[i]
		av, ok := from[f.Name]
		if !ok {
			continue
		}
		if err := f.codec.decode(av, At(v, f.Index)); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

// DecodeValues is Decode from a slice of values: field i is values[at[i]], or absent if that is
// nil.
func (p *Plan) DecodeValues(values []types.AttributeValue, at []int, v reflect.Value) error {
	for i := range p.Fields {
		f, av := &p.Fields[i], values[at[i]]
		if av == nil {
			continue
		}
		if err := f.codec.decode(av, At(v, f.Index)); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

// Encode returns the attribute value of a field.
func (f *Field) Encode(e *Encoder, v reflect.Value) (types.AttributeValue, error) {
	return f.codec.encode(e, v)
}

// At returns the field of a struct at a reflect index. The path must not contain pointers.
func At(rv reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		rv = rv.Field(i)
	}
	return rv
}

// Empty reports whether omitempty omits a value: zero values, zero times, and slices and maps
// without elements.
func Empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.String:
		return v.Len() == 0
	}
	return v.IsZero()
}

// customCodec is for types that implement their own encoding.
func customCodec(t reflect.Type) codec {
	c := fallbackCodec()
	if reflect.PointerTo(t).Implements(marshalerType) {
		c.encode = func(_ *Encoder, v reflect.Value) (types.AttributeValue, error) {
			return v.Addr().Interface().(attributevalue.Marshaler).MarshalDynamoDBAttributeValue()
		}
	}
	if reflect.PointerTo(t).Implements(unmarshalerType) {
		c.decode = func(av types.AttributeValue, v reflect.Value) error {
			return v.Addr().Interface().(attributevalue.Unmarshaler).UnmarshalDynamoDBAttributeValue(av)
		}
	}
	return c
}

// fallbackCodec leaves a type to the SDK: arrays, interfaces, and maps with other keys.
func fallbackCodec() codec {
	options := func(o *attributevalue.EncoderOptions) {
		o.EncodeTime = EncodeTime
	}
	return codec{
		encode: func(_ *Encoder, v reflect.Value) (types.AttributeValue, error) {
			return attributevalue.MarshalWithOptions(v.Interface(), options)
		},
		decode: func(av types.AttributeValue, v reflect.Value) error {
			return attributevalue.Unmarshal(av, v.Addr().Interface())
		},
	}
}

// setCodec returns the codec for a slice stored as a set, or nil. DynamoDB has no empty sets; they
// are stored as NULL.
func setCodec(t reflect.Type, form string) *codec {
	if t.Kind() != reflect.Slice {
		return nil
	}
	kind := t.Elem().Kind()
	switch {
	case form == "stringset" && kind == reflect.String:
		return &codec{encodeStringSet, decodeStringSet}
	case form == "numberset" && kind >= reflect.Int && kind <= reflect.Int64:
		return &codec{encodeNumberSet, decodeNumberSet}
	case form == "binaryset" && t.Elem() == reflect.TypeFor[[]byte]():
		return &codec{encodeBinarySet, decodeBinarySet}
	}
	return nil
}

func encodeStringSet(_ *Encoder, v reflect.Value) (types.AttributeValue, error) {
	if v.Len() == 0 {
		return null(), nil
	}
	set := make([]string, v.Len())
	for i := range set {
		set[i] = v.Index(i).String()
	}
	return &types.AttributeValueMemberSS{Value: set}, nil
}

func decodeStringSet(av types.AttributeValue, v reflect.Value) error {
	set, ok := av.(*types.AttributeValueMemberSS)
	if !ok {
		return mismatch(av, "SS")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(set.Value), len(set.Value)))
	for i, s := range set.Value {
		v.Index(i).SetString(s)
	}
	return nil
}

func encodeNumberSet(_ *Encoder, v reflect.Value) (types.AttributeValue, error) {
	if v.Len() == 0 {
		return null(), nil
	}
	set := make([]string, v.Len())
	for i := range set {
		set[i] = strconv.FormatInt(v.Index(i).Int(), 10)
	}
	return &types.AttributeValueMemberNS{Value: set}, nil
}

func decodeNumberSet(av types.AttributeValue, v reflect.Value) error {
	set, ok := av.(*types.AttributeValueMemberNS)
	if !ok {
		return mismatch(av, "NS")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(set.Value), len(set.Value)))
	for i, s := range set.Value {
		n, err := strconv.ParseInt(s, 10, v.Type().Elem().Bits())
		if err != nil {
			return fmt.Errorf("number %q is not an %s", s, v.Type().Elem())
		}
		v.Index(i).SetInt(n)
	}
	return nil
}

func encodeBinarySet(_ *Encoder, v reflect.Value) (types.AttributeValue, error) {
	if v.Len() == 0 {
		return null(), nil
	}
	return &types.AttributeValueMemberBS{Value: v.Interface().([][]byte)}, nil
}

func decodeBinarySet(av types.AttributeValue, v reflect.Value) error {
	set, ok := av.(*types.AttributeValueMemberBS)
	if !ok {
		return mismatch(av, "BS")
	}
	v.Set(reflect.ValueOf(set.Value))
	return nil
}
