package request

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Expression is an expression parameter of a request.
type Expression struct {
	Name   string
	Source *string
}

// Legacy is a parameter from before expressions.
type Legacy struct {
	Name  string
	Given bool
}

// CheckMix rejects a mix of expressions and legacy parameters, and names or values without an
// expression.
func CheckMix(exprs []Expression, legacy []Legacy, names map[string]string, values map[string]types.AttributeValue) error {
	var given, old, valued []string
	usable := false
	for _, e := range exprs {
		if e.Source != nil {
			given = append(given, e.Name)
		}
		if e.Name != "ProjectionExpression" {
			valued = append(valued, e.Name)
			usable = usable || e.Source != nil
		}
	}
	for _, l := range legacy {
		if l.Given {
			old = append(old, l.Name)
		}
	}
	switch {
	case len(given) > 0 && len(old) > 0:
		return Invalid("Can not use both expression and non-expression parameters in the same request: "+
			"Non-expression parameters: {%s} Expression parameters: {%s}", strings.Join(old, ", "), strings.Join(given, ", "))
	case names != nil && len(given) == 0:
		return Invalid("ExpressionAttributeNames can only be specified when using expressions")
	case values != nil && !usable && len(valued) == 1:
		return Invalid("ExpressionAttributeValues can only be specified when using expressions: %s is null", valued[0])
	case values != nil && !usable:
		return Invalid("ExpressionAttributeValues can only be specified when using expressions: %s are null", strings.Join(valued, " and "))
	}
	return nil
}
