// Package item is the value model of the embedded engine: what a DynamoDB attribute may hold, how large it counts, when
// two values are equal, and the bytes in which an item is stored. It exists so that those rules are written once and
// without I/O. It is used by the engine and by its sibling packages keyenc and expr, and by nobody else.
package item

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// Item is an item as the SDK spells it: attribute names and values. Values are treated as immutable by this package and
// by expr: a changed item shares what did not change with the item that it came from.
type Item = map[string]types.AttributeValue

// MaxSize is the largest item, in bytes by DynamoDB's size rule (400 KB, "Service, account, and table quotas").
const MaxSize = 400 * 1024

// MaxNesting is how many levels deep a value may be: a scalar at the top level is level 1 (docs: "nested up to 32
// levels deep").
const MaxNesting = 32
