package partiql

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// sum adds the capacity consumed by two reads of one table; nil means none.
func sum(a, b *types.ConsumedCapacity) *types.ConsumedCapacity {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	a.CapacityUnits = plus(a.CapacityUnits, b.CapacityUnits)
	if b.Table != nil {
		if a.Table == nil {
			a.Table = new(types.Capacity)
		}
		a.Table.CapacityUnits = plus(a.Table.CapacityUnits, b.Table.CapacityUnits)
	}
	a.GlobalSecondaryIndexes = sumIndexes(a.GlobalSecondaryIndexes, b.GlobalSecondaryIndexes)
	a.LocalSecondaryIndexes = sumIndexes(a.LocalSecondaryIndexes, b.LocalSecondaryIndexes)
	return a
}

func sumIndexes(a, b map[string]types.Capacity) map[string]types.Capacity {
	if a == nil {
		return b
	}
	for name, c := range b {
		a[name] = types.Capacity{CapacityUnits: plus(a[name].CapacityUnits, c.CapacityUnits)}
	}
	return a
}

func plus(a, b *float64) *float64 {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	s := *a + *b
	return &s
}
