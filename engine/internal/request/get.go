package request

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
)

// Get validates a GetItem and returns its key and its projection, nil for none.
func Get(p *expr.Parser, in *dynamodb.GetItemInput) (item.Item, *expr.Projection, error) {
	var c Members
	if in.Key == nil {
		c.AddNull("key")
	}
	c.CheckReturns(in.ReturnConsumedCapacity, "", "")
	if err := CheckTableName(in.TableName, &c); err != nil {
		return nil, nil, err
	}
	sel := Selection{Projection: in.ProjectionExpression, Names: in.ExpressionAttributeNames, Attributes: in.AttributesToGet}
	if err := sel.Check(); err != nil {
		return nil, nil, err
	}
	key, err := Normalize(in.Key)
	if err != nil {
		return nil, nil, err
	}
	proj, err := sel.Bind(p)
	return key, proj, err
}

// Bind parses the projection; the result is nil if there is none.
func (sel *Selection) Bind(p *expr.Parser) (*expr.Projection, error) {
	if sel.Projection == nil {
		return nil, nil
	}
	b, err := expr.NewBindings(sel.Names, nil)
	if err != nil {
		return nil, err
	}
	proj, err := p.Projection(*sel.Projection, b)
	if err != nil {
		return nil, err
	}
	return proj, b.CheckUnused()
}
