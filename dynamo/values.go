package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ValuesReader is what an API may offer beside Query: the same page, without a map for each item, of which making and
// asking costs more than reading. The embedded engine offers it; DynamoDB's client does not.
type ValuesReader interface {
	// QueryValues is Query, with the same input, limits and errors, but it hands each item to visit: the values of the
	// attributes of these names, which are sorted and different, in their order; nil where the item has none. They are valid
	// until visit returns, which must not call the API. The output has no items. After an error, which may be visit's, nothing
	// that was visited counts.
	QueryValues(ctx context.Context, in *dynamodb.QueryInput, names []string, visit func(values []types.AttributeValue) error) (*dynamodb.QueryOutput, error)
}

// ValuesOf returns what an API offers of it, nil for nothing. An API around another has a method Values that says what the
// inner one offers.
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
