package dynamojson

import (
	"fmt"

	"github.com/aws/smithy-go"
)

// CodeSerialization is the error code of a body that is not the JSON of its shape. The SDK has no type for it.
const CodeSerialization = "SerializationException"

// Messages of DynamoDB's for values of the wrong type. They tell of the Java types behind them.
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

// serialization makes the error of a value that does not fit its shape.
func serialization(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: CodeSerialization, Message: fmt.Sprintf(format, args...), Fault: smithy.FaultClient}
}

// errSyntax makes the error of what is not JSON. DynamoDB gives it no message.
func errSyntax() error { return serialization("") }

// javaType names the type that DynamoDB has for a shape, as its messages do.
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

// scalarName names the Java class of a scalar shape.
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
