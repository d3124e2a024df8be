// Package item is the value model of the embedded engine: the valid values of attributes, their
// sizes, their equality, and the encoding in which items are stored. It does no I/O.
package item

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// Item is an item in the form of the SDK: attribute names and values. This package and expr treat
// values as immutable: a modified item shares unchanged values with the original.
type Item = map[string]types.AttributeValue

// MaxSize is the maximum size of an item, in bytes by DynamoDB's size rule (400 KB, "Service,
// account, and table quotas").
const MaxSize = 400 * 1024

// MaxNesting is the maximum depth of a value; a scalar at the top level has depth 1 ("nested up to
// 32 levels deep").
const MaxNesting = 32
