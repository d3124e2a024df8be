// Package expr reads and evaluates DynamoDB's five kinds of expression: condition, filter, key condition, projection and
// update. It exists so that what an expression means, and the words in which DynamoDB refuses one, are in one place and
// without I/O. The engine uses it, and nobody else.
//
// An expression goes through three stages. Parsing depends on the text alone; its result is immutable and cached.
// Binding puts the request's names and values in and makes every check that needs no item. Evaluation then cannot be
// refused, except an update for what it finds in the item.
package expr

import (
	"fmt"

	"github.com/aws/smithy-go"
)

// Kind is the parameter that an expression came in, as it appears in messages.
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
	maxBound       = 2 << 20 // bytes of all names and values that a request puts in, by the rule of item sizes
	maxPath        = 32      // elements of a document path
	maxOperands    = 100     // of IN
	maxIndex       = 1<<31 - 1
	maxDepth       = 1024 // parentheses, NOTs and functions within each other: a guard of the parser, not a DynamoDB rule
)

// Error is the refusal of an expression. Its text is DynamoDB's message.
type Error struct {
	Kind   Kind // "" for a message that names no parameter
	Reason string
}

func (e *Error) Error() string {
	if e.Kind == "" {
		return e.Reason
	}
	return "Invalid " + string(e.Kind) + ": " + e.Reason
}

// An Error is the API's ValidationException as it stands, which smithy.APIError makes it.
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
