package dynamojson

import (
	"fmt"

	"github.com/aws/smithy-go"
)

// CodeSerialization is the error code for a body that is not JSON of the right shape. The SDK has
// no type for it.
const CodeSerialization = "SerializationException"

// DynamoDB's messages for values of the wrong type. They refer to Java types.
const (
	unexpectedStructure = "Start of structure or map found where not expected"
	unexpectedField     = "Unexpected field type"
	unexpectedValue     = "Unexpected value type in payload"
	unexpectedToken     = "Unexpected token received from parser"
	notBytes            = "only base-64-encoded strings are convertible to bytes"
	badBase64           = "Invalid last non-pad Base64 character dectected"
	severalTypes        = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
	notAClass           = "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class " +
		"(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')"
)

// serialization returns the error for a value of the wrong shape.
func serialization(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: CodeSerialization, Message: fmt.Sprintf(format, args...), Fault: smithy.FaultClient}
}

// errSyntax returns the error for invalid JSON. DynamoDB gives it no message.
func errSyntax() error { return serialization("") }

// javaType returns DynamoDB's Java type for a shape, as in its messages.
func javaType(s *smithy.Schema) string {
	if s == nil {
		return "java.lang.Object"
	}
	switch s.Type() {
	case smithy.ShapeTypeMap:
		return "java.util.Map<java.lang.String, " + javaType(s.MapValue()) + ">"
	case smithy.ShapeTypeList, smithy.ShapeTypeSet:
		return "java.util.List<" + javaType(s.ListMember()) + ">"
	case smithy.ShapeTypeStructure, smithy.ShapeTypeUnion:
		name := s.TargetID().Name
		if name == "" {
			name = s.ID().Name
		}
		return "com.amazonaws.dynamodb.v20120810." + name
	case smithy.ShapeTypeBlob:
		return "java.nio.ByteBuffer"
	}
	return "java.lang." + scalarName(s)
}

// scalarName returns the Java class of a scalar shape.
func scalarName(s *smithy.Schema) string {
	switch s.Type() {
	case smithy.ShapeTypeBoolean:
		return "Boolean"
	case smithy.ShapeTypeInteger, smithy.ShapeTypeIntEnum:
		return "Integer"
	case smithy.ShapeTypeLong:
		return "Long"
	case smithy.ShapeTypeFloat, smithy.ShapeTypeDouble:
		return "Double"
	case smithy.ShapeTypeTimestamp:
		return "Date"
	}
	return "String"
}
