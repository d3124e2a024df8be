package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ValuesReader is an optional interface of an API. It returns the same page as Query without a map
// for each item, since maps cost more than reading the items. The embedded engine implements it;
// DynamoDB's client does not.
type ValuesReader interface {
	// QueryValues is like Query, with the same input, limits and errors, but passes each item to
	// visit, as the values of the named attributes, in their order, with nil for missing
	// attributes. names must be sorted and distinct. The values are valid until visit returns;
	// visit must not call the API. The output contains no items. After an error, which may be that
	// of visit, ignore all items visited.
	QueryValues(ctx context.Context, in *dynamodb.QueryInput, names []string, visit func(values []types.AttributeValue) error) (*dynamodb.QueryOutput, error)
}

// ValuesOf returns the ValuesReader of an API, or nil. An API that wraps another has a method
// Values that returns the ValuesReader of the inner one.
func ValuesOf(api API) ValuesReader {
	if around, ok := api.(interface{ Values() ValuesReader }); ok {
		return around.Values()
	}
	r, ok := api.(ValuesReader)
	if !ok {
		return nil
	}
	return r
}
