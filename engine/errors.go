package engine

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
)

// ErrCorrupt is returned when bytes on disk do not have the documented form.
var ErrCorrupt = row.ErrCorrupt

func errNoTable() error {
	msg := "Requested resource not found"
	return &types.ResourceNotFoundException{Message: &msg}
}

// errNoTableNamed is what requests about tables themselves answer.
func errNoTableNamed(name string) error {
	msg := "Requested resource not found: Table: " + name + " not found"
	return &types.ResourceNotFoundException{Message: &msg}
}

func errInUse(format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	return &types.ResourceInUseException{Message: &msg}
}

// errCondition is the answer of a write whose condition did not hold, with the item if the request wants it.
func errCondition(it item.Item) error {
	msg := request.ConditionFailed
	return &types.ConditionalCheckFailedException{Message: &msg, Item: it}
}
