// Package expr parses and evaluates DynamoDB's five kinds of expressions: condition, filter, key
// condition, projection and update. It contains their semantics and the messages of DynamoDB for
// invalid ones, and does no I/O.
//
// An expression passes through three stages. Parsing depends only on the text; its result is
// immutable and cached. Binding inserts the names and values of the request, and makes every check
// that needs no item. Evaluation then cannot fail, except for an update that does not fit the item.
package expr

import (
	"fmt"

	"github.com/aws/smithy-go"
)

// Kind is the parameter that contains an expression, as it appears in messages.
type Kind string

// The kinds of expression.
const (
	ConditionExpression    Kind = "ConditionExpression"
	FilterExpression       Kind = "FilterExpression"
	KeyConditionExpression Kind = "KeyConditionExpression"
	ProjectionExpression   Kind = "ProjectionExpression"
	UpdateExpression       Kind = "UpdateExpression"
)

// Limits ("Service, account, and table quotas": expression parameters).
const (
	maxLength      = 4096 // bytes, before substitution
	maxOperators   = 300
	maxPlaceholder = 255     // bytes of a #name or :value, with the sign
	maxBound       = 2 << 20 // total size of all names and values inserted by a request, by the rule for item sizes
	maxPath        = 32      // elements of a document path
	maxOperands    = 100     // of IN
	maxIndex       = 1<<31 - 1
	maxDepth       = 1024 // nesting of parentheses, NOTs and functions: protects the parser, not a DynamoDB rule
)

// Error is an error in an expression. Its text is DynamoDB's message.
type Error struct {
	Kind   Kind // "" for messages that do not name a parameter
	Reason string
}

func (e *Error) Error() string {
	if e.Kind == "" {
		return e.Reason
	}
	return "Invalid " + string(e.Kind) + ": " + e.Reason
}

// An Error implements smithy.APIError as a ValidationException.
var _ smithy.APIError = (*Error)(nil)

// ErrorCode implements smithy.APIError.
func (e *Error) ErrorCode() string { return "ValidationException" }

// ErrorMessage implements smithy.APIError.
func (e *Error) ErrorMessage() string { return e.Error() }

// ErrorFault implements smithy.APIError.
func (e *Error) ErrorFault() smithy.ErrorFault { return smithy.FaultClient }

func refuse(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}
