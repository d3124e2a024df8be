package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// CodeValidation is the error code for invalid requests. The SDK has no type for it.
const CodeValidation = "ValidationException"

// Code returns the API's error code, such as "ConditionalCheckFailedException", or "" if err does
// not come from the API.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// Validation returns the API's error for an invalid request.
func Validation(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: CodeValidation, Message: fmt.Sprintf(format, args...), Fault: smithy.FaultClient}
}

// IsConditionFailed reports whether a write failed because its condition did not hold.
func IsConditionFailed(err error) bool {
	var e *types.ConditionalCheckFailedException
	return errors.As(err, &e)
}

// IsNotFound reports whether the table, index or stream named in a request does not exist. A
// missing item is not an error in DynamoDB.
func IsNotFound(err error) bool {
	return Code(err) == "ResourceNotFoundException"
}

// IsThrottle reports whether a request was throttled and may be repeated later. If the client has
// already repeated it (GaveUp), do not repeat it at once.
func IsThrottle(err error) bool {
	switch Code(err) {
	case "ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException", "LimitExceededException":
		return true
	}
	return false
}

// CancellationReasons returns the reason for each action of a cancelled transaction, in the order
// of the actions, and false if err is not a TransactionCanceledException. Actions that did not
// cause the cancellation have the code "None".
func CancellationReasons(err error) ([]types.CancellationReason, bool) {
	var e *types.TransactionCanceledException
	if !errors.As(err, &e) {
		return nil, false
	}
	return e.CancellationReasons, true
}
