package expr

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestSmoke(t *testing.T) {
	p := NewParser(10)
	b, err := NewBindings(map[string]string{"#a": "name"}, map[string]types.AttributeValue{":v": &types.AttributeValueMemberN{Value: "5.0"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Condition(ConditionExpression, "(#a = :v) and not attribute_exists(x.y[1]) OR size(z) > :v", b)
	if err != nil {
		t.Fatal(err)
	}
	ok, err := c.Eval(map[string]types.AttributeValue{"name": &types.AttributeValueMemberN{Value: "5"}})
	t.Log(ok, err, b.CheckUnused())
	u, err := p.Update("SET #a = if_not_exists(#a, :v) + :v, q = :v REMOVE z ADD n :v", b)
	if err != nil {
		t.Fatal(err)
	}
	it, err := u.Apply(nil)
	t.Log(it, err)
	k, err := p.KeyCondition("#a = :v AND sk > :v", b)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(k.Resolve("name", "sk"))
	_, err = p.Update("INVALID SYNTAX HERE", nil)
	t.Log(err)
	_, err = p.Projection("!!! INVALID !!!", nil)
	t.Log(err)
}
