package partiql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/request"
)

const (
	noKey       = "Where clause does not contain a mandatory equality on all key attributes"
	overlapping = "Overlapping conditions with range keys are not supported in where clause"
	duplicate   = "Duplicate primary key exists in table"
)

// malformed returns the error for a statement that cannot be parsed.
func malformed(detail string) error {
	return request.Invalid("Statement wasn't well formed, can't be processed: %s", detail)
}

// Details of parse errors, where they are reported.
const (
	leftover        = "Unexpected token after expression"
	unexpectedTerm  = "Unexpected term"
	unexpectedWord  = "Unexpected keyword"
	unexpectedInfix = "Unexpected operator"
	missingOperand  = "Missing right-hand side expression of infix operator"
	noStatement     = "Expected data manipulation"
	noTable         = "Expected identifier for simple path"
	noTypeName      = "Expected type name"
	badComponent    = "Invalid path dot component"
	tooDeep         = "Nesting Levels have exceeded supported limits"
)

// refuseAt returns an error that refers to one of the statement's tokens.
func (p *parser) refuseAt(t token, format string, args ...any) error {
	return request.Invalid("%s at %s", fmt.Sprintf(format, args...), place(p.src, t))
}

// asRefusal converts an error of package expr to DynamoDB's message for a statement, which does not
// name the parameter and lists types in another order.
func asRefusal(err error) error {
	var e *expr.Error
	if !errors.As(err, &e) {
		return err
	}
	if rule, list, ok := strings.Cut(e.Reason, ", valid types: "); ok && list != "" {
		return request.Invalid("%s, valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}", rule)
	}
	return request.Invalid("%s", e.Reason)
}
