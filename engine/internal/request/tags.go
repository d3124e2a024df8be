package request

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// TaggedTable returns the name of the table in the ARN of a request about tags.
func TaggedTable(arn *string) (string, error) {
	if arn == nil {
		return "", Invalid("Invalid TableArn")
	}
	const invalid = "One or more parameter values were invalid: "
	if !strings.HasPrefix(*arn, "arn:") {
		return "", Invalid(invalid+"ARNs must start with 'arn:': %s", *arn)
	}
	parts := strings.SplitN(*arn, ":", 6)
	if len(parts) < 6 || parts[2] != "dynamodb" {
		return "", Invalid(invalid+"Provided Arn is not a DynamoDB resource arn: %s", *arn)
	}
	name, ok := strings.CutPrefix(parts[5], "table/")
	if !ok || !ValidName(name) {
		return "", Invalid(invalid+"Invalid resource arn provided, only table or stream is accepted. Provided resource arn: %s", *arn)
	}
	return name, nil
}

// CheckTagging validates a TagResource, except what needs the table, and returns the table's name.
func CheckTagging(in *dynamodb.TagResourceInput) (string, error) {
	var c Members
	if in.Tags == nil {
		c.AddNull("tags")
	}
	if err := c.Err(); err != nil {
		return "", err
	}
	if len(in.Tags) == 0 {
		return "", Invalid("Atleast one Tag needs to be provided as Input.")
	}
	return TaggedTable(in.ResourceArn)
}

// CheckUntagging is CheckTagging for an UntagResource.
func CheckUntagging(in *dynamodb.UntagResourceInput) (string, error) {
	var c Members
	if in.TagKeys == nil {
		c.AddNull("tagKeys")
	}
	if err := c.Err(); err != nil {
		return "", err
	}
	if len(in.TagKeys) == 0 {
		return "", Invalid("Atleast one Tag Key needs to be provided as Input.")
	}
	return TaggedTable(in.ResourceArn)
}
