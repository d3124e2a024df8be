package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
)

const conditionFailed = "The conditional request failed"

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
	msg := conditionFailed
	return &types.ConditionalCheckFailedException{Message: &msg, Item: it}
}

// asValidation turns what the core says of a request into the API's error; other errors pass.
func asValidation(err error) error {
	var e *expr.Error
	if errors.As(err, &e) {
		return dynamo.Validation("%s", e.Error())
	}
	return err
}

// constraints collects the faults of a request's members, which are told together.
type constraints []string

func (c *constraints) add(value, member, constraint string) {
	*c = append(*c, "Value '"+value+"' at '"+member+"' failed to satisfy constraint: "+constraint)
}

func (c *constraints) addNull(member string) {
	*c = append(*c, "Value null at '"+member+"' failed to satisfy constraint: Member must not be null")
}

func (c *constraints) addEnum(value, member string, allowed []string) {
	c.add(value, member, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
}

func (c constraints) err() error {
	switch len(c) {
	case 0:
		return nil
	case 1:
		return dynamo.Validation("1 validation error detected: %s", c[0])
	}
	return dynamo.Validation("%d validation errors detected: %s", len(c), strings.Join(c, "; "))
}
