package request

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/engine/internal/item"
)

// Invalid returns the error with which DynamoDB rejects an invalid request.
func Invalid(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: fmt.Sprintf(format, args...), Fault: smithy.FaultClient}
}

// NoTable returns the error for item requests on an unknown table.
func NoTable() error {
	msg := "Requested resource not found"
	return &types.ResourceNotFoundException{Message: &msg}
}

// NoTableNamed returns the error for table requests on an unknown table.
func NoTableNamed(name string) error {
	msg := "Requested resource not found: Table: " + name + " not found"
	return &types.ResourceNotFoundException{Message: &msg}
}

// NoResource returns the error for tag requests on an unknown table.
func NoResource(arn string) error {
	msg := "Requested resource not found: ResourcArn: " + arn + " not found" // DynamoDB's own spelling
	return &types.ResourceNotFoundException{Message: &msg}
}

// TableExists returns the error for creating an existing table.
func TableExists(name string) error {
	msg := "Table already exists: " + name
	return &types.ResourceInUseException{Message: &msg}
}

// LimitExceeded returns the error for a request that exceeds a quota.
func LimitExceeded(msg string) error {
	msg = "Subscriber limit exceeded: " + msg
	return &types.LimitExceededException{Message: &msg}
}

// ConditionFailed is the message of a failed condition.
const ConditionFailed = "The conditional request failed"

// FailedCondition returns the error of a write whose condition did not hold, with the item if
// requested.
func FailedCondition(it item.Item) error {
	msg := ConditionFailed
	return &types.ConditionalCheckFailedException{Message: &msg, Item: it}
}
