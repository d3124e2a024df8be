package request

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/engine/internal/item"
)

// Invalid makes the error with which DynamoDB refuses a request for its form.
func Invalid(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: fmt.Sprintf(format, args...), Fault: smithy.FaultClient}
}

// NoTable is the answer to a request for items that names no table.
func NoTable() error {
	msg := "Requested resource not found"
	return &types.ResourceNotFoundException{Message: &msg}
}

// NoTableNamed is what requests about tables themselves answer.
func NoTableNamed(name string) error {
	msg := "Requested resource not found: Table: " + name + " not found"
	return &types.ResourceNotFoundException{Message: &msg}
}

// NoResource is what requests about tags answer.
func NoResource(arn string) error {
	msg := "Requested resource not found: ResourcArn: " + arn + " not found" // DynamoDB's own spelling
	return &types.ResourceNotFoundException{Message: &msg}
}

// TableExists is the answer to the creation of a table that there is.
func TableExists(name string) error {
	msg := "Table already exists: " + name
	return &types.ResourceInUseException{Message: &msg}
}

// LimitExceeded is the answer to a request that goes beyond a quota.
func LimitExceeded(msg string) error {
	msg = "Subscriber limit exceeded: " + msg
	return &types.LimitExceededException{Message: &msg}
}

// ConditionFailed is the message of a write whose condition did not hold.
const ConditionFailed = "The conditional request failed"

// FailedCondition is the answer of a write whose condition did not hold, with the item if the request wants it.
func FailedCondition(it item.Item) error {
	msg := ConditionFailed
	return &types.ConditionalCheckFailedException{Message: &msg, Item: it}
}
