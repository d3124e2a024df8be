package readings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

// Value is a measured value: a number, a text or a truth value. The zero value means no value.
type Value struct {
	form valueForm
	text string // canonical; a number is plain, without redundant zeros
}

type valueForm byte

const (
	noValue valueForm = iota
	isNumber
	isText
	isBool
)

// Number parses a decimal number. Different notations of a number yield the same value. The error
// says what is wrong; NaN and infinities are not numbers.
func Number(s string) (Value, error) {
	d, err := decimalsum.Parse(s)
	if err != nil {
		return Value{}, err
	}
	return Value{isNumber, d.String()}, nil
}

// Float returns a number; see Number.
func Float(f float64) (Value, error) {
	d, err := decimalsum.ParseFloat(f)
	if err != nil {
		return Value{}, err
	}
	return Value{isNumber, d.String()}, nil
}

// Text returns a text value.
func Text(s string) Value { return Value{isText, s} }

// Bool returns a truth value.
func Bool(b bool) Value { return Value{isBool, strconv.FormatBool(b)} }

// IsZero reports whether there is no value.
func (v Value) IsZero() bool { return v.form == noValue }

// IsNumber reports whether the value is a number.
func (v Value) IsNumber() bool { return v.form == isNumber }

// IsText reports whether the value is a text.
func (v Value) IsText() bool { return v.form == isText }

// String returns the value as text; a number in plain decimal digits.
func (v Value) String() string { return v.text }

// Decimal returns the number, or 0 if the value is not a number.
func (v Value) Decimal() decimalsum.Decimal {
	d, err := decimalsum.Parse(v.text)
	if err != nil || v.form != isNumber {
		return decimalsum.Decimal{}
	}
	return d
}

// Float returns the float64 nearest to the number, or 0 if the value is not a number. It equals
// the float of Decimal, but is faster, because it does not parse the digits.
func (v Value) Float() float64 {
	if v.form != isNumber {
		return 0
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil {
		return 0 // impossible for numbers within the limits of Number
	}
	return f
}

// MarshalJSON encodes the value. Numbers keep all their digits.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil) }

// AppendJSON appends the output of MarshalJSON.
func (v Value) AppendJSON(b []byte) ([]byte, error) {
	switch v.form {
	case isNumber, isBool:
		return append(b, v.text...), nil
	case isText:
		text, err := json.Marshal(v.text)
		return append(b, text...), err
	}
	return append(b, "null"...), nil
}

// UnmarshalJSON decodes a number, text, truth value or null.
func (v *Value) UnmarshalJSON(b []byte) (err error) {
	switch text := string(b); {
	case text == "null":
		*v = Value{}
	case text == "true" || text == "false":
		*v = Bool(text == "true")
	case len(b) > 0 && b[0] == '"':
		var s string
		err = json.Unmarshal(b, &s)
		*v = Text(s)
	default:
		*v, err = Number(text)
	}
	return err
}

// MarshalDynamoDBAttributeValue encodes the value as N, S, BOOL or NULL.
func (v Value) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	switch v.form {
	case isNumber:
		return &types.AttributeValueMemberN{Value: v.text}, nil
	case isText:
		return &types.AttributeValueMemberS{Value: v.text}, nil
	case isBool:
		return &types.AttributeValueMemberBOOL{Value: v.text == "true"}, nil
	}
	return &types.AttributeValueMemberNULL{Value: true}, nil
}

// UnmarshalDynamoDBAttributeValue decodes the value.
func (v *Value) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	switch av := av.(type) {
	case *types.AttributeValueMemberN:
		*v = Value{isNumber, av.Value}
	case *types.AttributeValueMemberS:
		*v = Text(av.Value)
	case *types.AttributeValueMemberBOOL:
		*v = Bool(av.Value)
	case *types.AttributeValueMemberNULL:
		*v = Value{}
	default:
		return fmt.Errorf("readings: a value is a %T", av)
	}
	return nil
}

// Values are the values of one reading, by metric.
type Values map[string]Value

// MarshalDynamoDBAttributeValue encodes the values as a map.
func (vs Values) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	m := make(map[string]types.AttributeValue, len(vs))
	for name, v := range vs {
		av, err := v.MarshalDynamoDBAttributeValue()
		if err != nil {
			return nil, err
		}
		m[name] = av
	}
	return &types.AttributeValueMemberM{Value: m}, nil
}

// UnmarshalDynamoDBAttributeValue decodes the values.
func (vs *Values) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return fmt.Errorf("readings: values are a %T", av)
	}
	*vs = make(Values, len(m.Value))
	for name, av := range m.Value {
		var v Value
		if err := v.UnmarshalDynamoDBAttributeValue(av); err != nil {
			return err
		}
		(*vs)[name] = v
	}
	return nil
}

// Names returns the metrics, sorted.
func (vs Values) Names() []string { return slices.Sorted(maps.Keys(vs)) }
