package request

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Members collects the errors in a request's members, which are reported together.
type Members []string

// Add records that a member's value violates a constraint.
func (c *Members) Add(value, member, constraint string) {
	*c = append(*c, "Value '"+value+"' at '"+member+"' failed to satisfy constraint: "+constraint)
}

// AddNull records that a member is missing.
func (c *Members) AddNull(member string) {
	*c = append(*c, "Value null at '"+member+"' failed to satisfy constraint: Member must not be null")
}

// Length checks the length of a text in bytes, unless s is nil.
func (c *Members) Length(s *string, member string, least, most int) {
	switch {
	case s == nil:
	case len(*s) < least:
		c.Add(*s, member, fmt.Sprintf("Member must have length greater than or equal to %d", least))
	case len(*s) > most:
		c.Add(*s, member, fmt.Sprintf("Member must have length less than or equal to %d", most))
	}
}

// Name checks the name of an attribute used as a key or in a table's description.
func (c *Members) Name(s *string, member string) {
	if s == nil {
		c.AddNull(member)
	}
	c.Length(s, member, 1, maxKeyName)
}

// maxKeyName is the maximum length of such a name in bytes. Names of other attributes may be
// longer, see item.MaxName.
const maxKeyName = 255

// AddEnum records that a member has none of the allowed values.
func (c *Members) AddEnum(value, member string, allowed []string) {
	c.Add(value, member, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
}

// Err returns one error for all recorded errors, or nil.
func (c Members) Err() error {
	switch len(c) {
	case 0:
		return nil
	case 1:
		return Invalid("1 validation error detected: %s", c[0])
	}
	return Invalid("%d validation errors detected: %s", len(c), strings.Join(c, "; "))
}

// Limits for table names, in characters. Requests other than CreateTable may use an ARN instead.
const (
	MinTableName = 3 // only in CreateTable
	maxTableName = 255
	maxTableARN  = 1024
)

// TableName returns the table named by name or ARN.
func TableName(name *string) string {
	if name == nil {
		return ""
	}
	if !strings.HasPrefix(*name, "arn:") {
		return *name
	}
	_, table, _ := strings.Cut(*name, ":table/")
	return table
}

// CheckTableName validates the TableName of a request. Its error is reported after those of other
// members.
func CheckTableName(name *string, c *Members) error {
	c.tableName(name, "tableName")
	return c.Err()
}

func (c *Members) tableName(name *string, member string) {
	if name == nil {
		c.AddNull(member)
		return
	}
	n := *name
	switch {
	case n == "":
		c.Add("", member, "Member must have length greater than or equal to 1")
	case len(n) > maxTableARN || !strings.HasPrefix(n, "arn:") && len(n) > maxTableName:
		c.Add(n, member, "Member must have length less than or equal to "+strconv.Itoa(maxTableName))
	case !strings.HasPrefix(n, "arn:") && !ValidName(n):
		c.Add(n, member, "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
}

// ValidName reports whether s contains only characters allowed in table and index names.
func ValidName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-') {
			return false
		}
	}
	return s != ""
}

// CheckReturns validates the parameters that determine the content of a response.
func (c *Members) CheckReturns(capacity types.ReturnConsumedCapacity, metrics types.ReturnItemCollectionMetrics, values types.ReturnValue) {
	CheckEnum(c, "returnConsumedCapacity", capacity, "INDEXES", "TOTAL", "NONE")
	CheckEnum(c, "returnItemCollectionMetrics", metrics, "SIZE", "NONE")
	CheckEnum(c, "returnValues", values, "ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
}

// CheckEnum records a value that is neither empty nor allowed.
func CheckEnum[T ~string](c *Members, member string, value T, allowed ...string) {
	if value == "" {
		return
	}
	for _, a := range allowed {
		if string(value) == a {
			return
		}
	}
	c.AddEnum(string(value), member, allowed)
}

// IsTrue reports whether an optional flag is present and true.
func IsTrue(b *bool) bool { return b != nil && *b }

// CheckTTL validates and returns the specification of an UpdateTimeToLive.
func CheckTTL(spec *types.TimeToLiveSpecification) (*types.TimeToLiveSpecification, error) {
	var c Members
	switch {
	case spec == nil:
		c.AddNull("timeToLiveSpecification")
	default:
		c.Name(spec.AttributeName, "timeToLiveSpecification.attributeName")
	}
	if spec != nil && spec.Enabled == nil {
		c.AddNull("timeToLiveSpecification.enabled")
	}
	return spec, c.Err()
}
