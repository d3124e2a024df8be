package dynamojson

import (
	"encoding/base64"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
)

// wrongScalar returns the error for a value in place of a scalar of the given class. It consumes
// nothing.
func (d *decoder) wrongScalar(class string) error {
	switch c := d.peek(); {
	case c == '{':
		return serialization(unexpectedStructure)
	case c == '[':
		return serialization("Unrecognized collection type class java.lang.%s", class)
	case c == '"':
		return serialization("STRING_VALUE cannot be converted to %s", class)
	case c == 't':
		return serialization("TRUE_VALUE cannot be converted to %s", class)
	case c == 'f':
		return serialization("FALSE_VALUE cannot be converted to %s", class)
	}
	_, whole, err := d.number()
	switch {
	case err != nil:
		return err
	case whole:
		return serialization("NUMBER_VALUE cannot be converted to %s", class)
	}
	return serialization("DECIMAL_VALUE cannot be converted to %s", class)
}

// ReadString implements smithy.ShapeDeserializer.
func (d *decoder) ReadString(_ *smithy.Schema, v *string) error {
	if d.peek() != '"' {
		return d.wrongScalar("String")
	}
	text, err := d.text()
	*v = text
	return err
}

// ReadBool implements smithy.ShapeDeserializer. Like DynamoDB, it accepts some words as well.
func (d *decoder) ReadBool(_ *smithy.Schema, v *bool) error {
	switch d.peek() {
	case 't':
		*v = true
		return d.literal("true")
	case 'f':
		*v = false
		return d.literal("false")
	case '"':
		text, err := d.text()
		if err != nil {
			return err
		}
		return boolOf(text, v)
	}
	return d.wrongScalar("Boolean")
}

func boolOf(text string, v *bool) error {
	switch strings.ToUpper(text) {
	case "TRUE", "1", "YES":
		*v = true
	case "FALSE", "0", "NO":
		*v = false
	default:
		return serialization(unexpectedToken)
	}
	return nil
}

// ReadBlob implements smithy.ShapeDeserializer.
func (d *decoder) ReadBlob(_ *smithy.Schema, v *[]byte) error {
	switch c := d.peek(); {
	case c == '{':
		return serialization(unexpectedStructure)
	case c == '[':
		return serialization("Unrecognized collection type class java.nio.ByteBuffer")
	case c != '"':
		if err := d.skip(0); err != nil {
			return err
		}
		return serialization(notBytes)
	}
	text, err := d.text()
	if err != nil {
		return err
	}
	if len(text)%4 != 0 {
		return serialization("Base64 encoded length is expected a multiple of 4 bytes but found: %d", len(text))
	}
	blob, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // the base64 decoder ignores line ends, DynamoDB does not
		return serialization(badBase64)
	}
	*v = blob
	return nil
}

// float reads a number, or a word for a value that is not a number.
func (d *decoder) float(s *smithy.Schema) (float64, error) {
	c := d.peek()
	if c == '"' {
		start := d.pos
		switch text, err := d.text(); {
		case err != nil:
			return 0, err
		case text == "NaN" || text == "Infinity" || text == "-Infinity":
			return strconv.ParseFloat(text, 64)
		}
		d.pos = start
	}
	if c != '-' && (c < '0' || c > '9') {
		return 0, d.wrongScalar(scalarName(s))
	}
	text, _, err := d.number()
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, serialization("NUMBER_VALUE cannot be converted to %s", scalarName(s))
	}
	return f, nil
}

// integer reads an integer and drops any fraction.
func (d *decoder) integer(s *smithy.Schema, least, most int64) (int64, error) {
	if c := d.peek(); c != '-' && (c < '0' || c > '9') {
		return 0, d.wrongScalar(scalarName(s))
	}
	text, whole, err := d.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if !whole {
		var f float64
		if f, err = strconv.ParseFloat(text, 64); err == nil && math.Abs(f) < math.MaxInt64 {
			n = int64(f)
		} else {
			return 0, serialization("DECIMAL_VALUE cannot be converted to %s", scalarName(s))
		}
	}
	if err != nil || n < least || n > most {
		return 0, serialization("NUMBER_VALUE cannot be converted to %s", scalarName(s))
	}
	return n, nil
}

// ReadInt8 implements smithy.ShapeDeserializer.
func (d *decoder) ReadInt8(s *smithy.Schema, v *int8) error {
	n, err := d.integer(s, math.MinInt8, math.MaxInt8)
	*v = int8(n)
	return err
}

// ReadInt16 implements smithy.ShapeDeserializer.
func (d *decoder) ReadInt16(s *smithy.Schema, v *int16) error {
	n, err := d.integer(s, math.MinInt16, math.MaxInt16)
	*v = int16(n)
	return err
}

// ReadInt32 implements smithy.ShapeDeserializer.
func (d *decoder) ReadInt32(s *smithy.Schema, v *int32) error {
	n, err := d.integer(s, math.MinInt32, math.MaxInt32)
	*v = int32(n)
	return err
}

// ReadInt64 implements smithy.ShapeDeserializer.
func (d *decoder) ReadInt64(s *smithy.Schema, v *int64) (err error) {
	*v, err = d.integer(s, math.MinInt64, math.MaxInt64)
	return err
}

// ReadFloat32 implements smithy.ShapeDeserializer.
func (d *decoder) ReadFloat32(s *smithy.Schema, v *float32) error {
	f, err := d.float(s)
	*v = float32(f)
	return err
}

// ReadFloat64 implements smithy.ShapeDeserializer.
func (d *decoder) ReadFloat64(s *smithy.Schema, v *float64) (err error) {
	*v, err = d.float(s)
	return err
}

// ReadTime implements smithy.ShapeDeserializer. Times are seconds since 1970, read with millisecond
// resolution.
func (d *decoder) ReadTime(s *smithy.Schema, v *time.Time) error {
	f, err := d.float(s)
	if err != nil {
		return err
	}
	if millis := math.Round(f * 1000); math.Abs(millis) < math.MaxInt64 {
		*v = time.UnixMilli(int64(millis)).UTC()
		return nil
	}
	return serialization("NUMBER_VALUE cannot be converted to %s", scalarName(s))
}

// ReadBigInt implements smithy.ShapeDeserializer. DynamoDB's model does not contain big integers.
func (d *decoder) ReadBigInt(s *smithy.Schema, _ *big.Int) error {
	return serialization("%s is not in DynamoDB's model", javaType(s))
}

// ReadBigFloat implements smithy.ShapeDeserializer. DynamoDB's model does not contain big floats.
func (d *decoder) ReadBigFloat(s *smithy.Schema, _ *big.Float) error {
	return serialization("%s is not in DynamoDB's model", javaType(s))
}
