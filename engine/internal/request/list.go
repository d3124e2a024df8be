package request

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const maxListTables = 100

// PageOfTables returns the page of sorted names that a ListTables requests.
func PageOfTables(in *dynamodb.ListTablesInput, names []string) (*dynamodb.ListTablesOutput, error) {
	limit := maxListTables
	if in.Limit != nil {
		var c Members
		limit = int(*in.Limit)
		if limit < 1 {
			c.Add(strconv.Itoa(limit), "limit", "Member must have value greater than or equal to 1")
		} else if limit > maxListTables {
			c.Add(strconv.Itoa(limit), "limit", "Member must have value less than or equal to 100")
		}
		if err := c.Err(); err != nil {
			return nil, err
		}
	}
	if in.ExclusiveStartTableName != nil {
		i, found := slices.BinarySearchFunc(names, *in.ExclusiveStartTableName, cmp.Compare[string])
		if found {
			i++
		}
		names = names[i:]
	}
	if names == nil {
		names = []string{} // an empty list, not nil
	}
	out := &dynamodb.ListTablesOutput{TableNames: names}
	if len(names) > limit {
		out.TableNames = names[:limit]
		out.LastEvaluatedTableName = &names[limit-1]
	}
	return out, nil
}
