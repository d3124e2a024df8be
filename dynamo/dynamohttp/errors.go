package dynamohttp

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamojson"
)

// Error codes of the protocol itself.
const (
	codeInternal         = "InternalServerError"
	codeUnknownOperation = "UnknownOperationException"
	codeMissingToken     = "MissingAuthenticationTokenException"
	codeIncomplete       = "IncompleteSignatureException"
	codeInvalid          = "InvalidSignatureException"
	codeUnrecognized     = "UnrecognizedClientException"
	codeDenied           = "AccessDeniedException"
	codeUnavailable      = "ServiceUnavailable"
)

// Namespaces of error types. Clients use only the part after the number sign.
const (
	modelNamespace    = "com.amazonaws.dynamodb.v20120810#"
	serviceNamespace  = "com.amazon.coral.service#"
	validateNamespace = "com.amazon.coral.validate#"
	throttleNamespace = "com.amazon.coral.availability#"
)

// errTooLarge is returned if a body exceeds the maximum size. The response has no body.
var errTooLarge = errors.New("dynamohttp: request is larger than 16 MB")

func protocolError(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message, Fault: smithy.FaultClient}
}

// errBusy returns the error for a request that exceeds the limits on requests or memory.
func errBusy() error {
	return &smithy.GenericAPIError{Code: codeUnavailable, Message: "Too many requests are under way; send this one again later", Fault: smithy.FaultServer}
}

// errUnknownOperation returns the error for an unknown operation. It names the operation if the
// target looks like DynamoDB's.
func errUnknownOperation(target string) error {
	const longest = 100
	name, ok := strings.CutPrefix(target, tablesTarget)
	if !ok {
		name, ok = strings.CutPrefix(target, streamsTarget)
	}
	if !ok || name == "" || len(name) > longest {
		return protocolError(codeUnknownOperation, "")
	}
	return protocolError(codeUnknownOperation, "The operation "+name+" is not available here")
}

func serialization(message string) error {
	return protocolError(dynamojson.CodeSerialization, message)
}

// apiError returns the error to report to a client: the API's, or a generic internal error.
func apiError(err error) smithy.APIError {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api
	}
	internal := &smithy.GenericAPIError{Code: codeInternal, Message: "Internal server error", Fault: smithy.FaultServer}
	if errors.Is(err, context.DeadlineExceeded) {
		internal.Message = "The operation took too long and was given up"
	}
	return internal
}

// codeOf returns the code under which a response is counted.
func codeOf(err error) string {
	switch {
	case err == nil:
		return "OK"
	case errors.Is(err, errTooLarge):
		return "RequestEntityTooLarge"
	}
	return apiError(err).ErrorCode()
}

// statusOf returns the HTTP status of a response.
func statusOf(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge
	}
	switch api := apiError(err); {
	case api.ErrorCode() == codeUnavailable:
		return http.StatusServiceUnavailable
	case api.ErrorFault() == smithy.FaultServer || api.ErrorCode() == codeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

func namespaceOf(code string) string {
	switch code {
	case dynamo.CodeValidation:
		return validateNamespace
	case "ThrottlingException", codeUnavailable:
		return throttleNamespace
	case dynamojson.CodeSerialization, codeUnknownOperation, codeMissingToken, codeIncomplete, codeInvalid, codeUnrecognized,
		codeDenied:
		return serviceNamespace
	}
	return modelNamespace
}

// appendError appends the JSON of an error. Errors in the model include their members: the message,
// and the item or the cancellation reasons.
func appendError(dst []byte, err error) []byte {
	api := apiError(err)
	dst = append(dst, `{"__type":"`...)
	dst = append(dst, namespaceOf(api.ErrorCode())...)
	dst = append(dst, api.ErrorCode()...)
	dst = append(dst, '"')
	members, ok := api.(smithy.Serializable)
	if !ok {
		members = message{text: api.ErrorMessage(), capital: api.ErrorCode() == dynamojson.CodeSerialization}
	}
	rest := dynamojson.Append(nil, members)
	if len(rest) > len("{}") {
		dst = append(dst, ',')
	}
	return append(dst, rest[1:]...)
}

// message writes the single member of an error that is not in the model. For a
// SerializationException its name is capitalized.
type message struct {
	text    string
	capital bool
}

// Serialize implements smithy.Serializable.
func (m message) Serialize(s smithy.ShapeSerializer) {
	s.WriteMap(nil)
	if m.text != "" {
		name := "message"
		if m.capital {
			name = "Message"
		}
		s.WriteKey(nil, name)
		s.WriteString(nil, m.text)
	}
	s.CloseMap()
}
