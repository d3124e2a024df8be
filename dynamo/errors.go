package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// CodeValidation is the error code of a request that DynamoDB refuses for its form. The SDK has no type for it.
const CodeValidation = "ValidationException"

// Code returns the API's code of an error, such as "ConditionalCheckFailedException", or "" when err does not come
// from the API.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// Validation makes the error with which the API refuses a request for its form.
func Validation(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: CodeValidation, Message: fmt.Sprintf(format, args...), Fault: smithy.FaultClient}
}

// IsConditionFailed reports whether a write was refused because its condition did not hold.
func IsConditionFailed(err error) bool {
	var e *types.ConditionalCheckFailedException
	return errors.As(err, &e)
}

// IsNotFound reports whether the table, index or stream that a request names does not exist. A missing item is not
// an error in DynamoDB.
func IsNotFound(err error) bool {
	return Code(err) == "ResourceNotFoundException"
}

// IsThrottle reports whether a request was refused for now and may be sent again later. When whoever sent it has done so
// already (GaveUp), later means not at once.
func IsThrottle(err error) bool {
	switch Code(err) {
	case "ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException", "LimitExceededException":
		return true
	}
	return false
}

// CancellationReasons returns why each action of a transaction did not happen, in the order of the actions, when err
// is a TransactionCanceledException. Actions that were not to blame have the code "None".
func CancellationReasons(err error) ([]types.CancellationReason, bool) {
	var e *types.TransactionCanceledException
	if !errors.As(err, &e) {
		return nil, false
	}
	return e.CancellationReasons, true
}
