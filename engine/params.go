package engine

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

// Bounds of a table's name, in characters. A request other than CreateTable may name a table by its ARN.
const (
	minTableName = 3 // in CreateTable alone
	maxTableName = 255
	maxTableARN  = 1024
)

// tableName returns the table that a request names by name or by ARN.
func tableName(name *string) string {
	if name == nil {
		return ""
	}
	if !strings.HasPrefix(*name, "arn:") {
		return *name
	}
	_, table, _ := strings.Cut(*name, ":table/")
	return table
}

// checkTableName checks the TableName of a request, after whose other members it is told.
func checkTableName(name *string, c *constraints) error {
	if name == nil {
		c.addNull("tableName")
		return c.err()
	}
	n := *name
	switch {
	case n == "":
		c.add("", "tableName", "Member must have length greater than or equal to 1")
	case len(n) > maxTableARN || !strings.HasPrefix(n, "arn:") && len(n) > maxTableName:
		c.add(n, "tableName", "Member must have length less than or equal to "+strconv.Itoa(maxTableName))
	case !strings.HasPrefix(n, "arn:") && !validName(n):
		c.add(n, "tableName", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
	return c.err()
}

// validName reports whether s has only the characters of table and index names.
func validName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-') {
			return false
		}
	}
	return s != ""
}

// checkReturns checks the parameters that say what a response holds.
func (c *constraints) checkReturns(capacity types.ReturnConsumedCapacity, metrics types.ReturnItemCollectionMetrics, values types.ReturnValue) {
	checkEnum(c, "returnConsumedCapacity", capacity, "INDEXES", "TOTAL", "NONE")
	checkEnum(c, "returnItemCollectionMetrics", metrics, "SIZE", "NONE")
	checkEnum(c, "returnValues", values, "ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
}

// checkEnum refuses a value that is neither empty nor one of those allowed.
func checkEnum[T ~string](c *constraints, member string, value T, allowed ...string) {
	if value == "" {
		return
	}
	for _, a := range allowed {
		if string(value) == a {
			return
		}
	}
	c.addEnum(string(value), member, allowed)
}

// exprParam is an expression parameter of a request.
type exprParam struct {
	name string
	src  *string
}

// legacyParam is a parameter of the time before expressions.
type legacyParam struct {
	name  string
	given bool
}

// checkMix refuses the two kinds of parameters in one request, and substitutions without an expression to put them in.
func checkMix(exprs []exprParam, legacy []legacyParam, names map[string]string, values map[string]types.AttributeValue) error {
	var given, old, valued []string
	usable := false
	for _, e := range exprs {
		if e.src != nil {
			given = append(given, e.name)
		}
		if e.name != "ProjectionExpression" {
			valued = append(valued, e.name)
			usable = usable || e.src != nil
		}
	}
	for _, l := range legacy {
		if l.given {
			old = append(old, l.name)
		}
	}
	switch {
	case len(given) > 0 && len(old) > 0:
		return dynamo.Validation("Can not use both expression and non-expression parameters in the same request: "+
			"Non-expression parameters: {%s} Expression parameters: {%s}", strings.Join(old, ", "), strings.Join(given, ", "))
	case names != nil && len(given) == 0:
		return dynamo.Validation("ExpressionAttributeNames can only be specified when using expressions")
	case values != nil && !usable && len(valued) == 1:
		return dynamo.Validation("ExpressionAttributeValues can only be specified when using expressions: %s is null", valued[0])
	case values != nil && !usable:
		return dynamo.Validation("ExpressionAttributeValues can only be specified when using expressions: %s are null", strings.Join(valued, " and "))
	}
	return nil
}
