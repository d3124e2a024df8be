package engine

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/item"
)

// DynamoDB's bounds, in bytes.
const (
	maxItemBytes  = 400 << 10
	maxHashBytes  = 2048
	maxRangeBytes = 1024
)

const wrongKey = "The provided key element does not match the schema"

// checkItem checks the keys, the index keys and the size of an item that is about to be stored.
func (s *schema) checkItem(it item.Item) error {
	if err := checkItemKey(it, s.hash, true); err != nil {
		return err
	}
	if s.rng.Name != "" {
		if err := checkItemKey(it, s.rng, false); err != nil {
			return err
		}
	}
	return s.checkIndexKeys(it)
}

// checkIndexKeys checks the attributes of an item that are keys of an index. They may be absent.
func (s *schema) checkIndexKeys(it item.Item) error {
	for _, x := range s.indexes {
		if err := x.checkKey(it, x.hash, true); err != nil {
			return err
		}
		if x.rng.Name != "" {
			if err := x.checkKey(it, x.rng, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *index) checkKey(it item.Item, a keyAttr, hash bool) error {
	v := it[a.Name]
	if v == nil {
		return nil
	}
	size, ok := keySize(v, a.Type)
	if !ok {
		return dynamo.Validation("One or more parameter values were invalid: Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s",
			a.Name, a.Type, typeOf(v), x.desc.Name)
	}
	if size == 0 {
		return dynamo.Validation("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
			"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s", kindWord(a.Type), x.desc.Name, a.Name)
	}
	return checkKeySize(size, hash)
}

// checkItemKey checks a key attribute of a whole item.
func checkItemKey(it item.Item, a keyAttr, hash bool) error {
	v := it[a.Name]
	if v == nil {
		return dynamo.Validation("One or more parameter values were invalid: Missing the key %s in the item", a.Name)
	}
	size, ok := keySize(v, a.Type)
	if !ok {
		return dynamo.Validation("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s", a.Name, a.Type, typeOf(v))
	}
	return checkKeyValue(a, size, hash)
}

// checkKey checks the Key parameter of a request: the table's key, the whole key and nothing but the key.
func (s *schema) checkKey(key item.Item) error {
	n := 1
	if s.rng.Name != "" {
		n = 2
	}
	if len(key) != n {
		return dynamo.Validation(wrongKey)
	}
	if err := checkKeyPart(key, s.hash, true); err != nil || n == 1 {
		return err
	}
	return checkKeyPart(key, s.rng, false)
}

func checkKeyPart(key item.Item, a keyAttr, hash bool) error {
	size, ok := keySize(key[a.Name], a.Type)
	if !ok {
		return dynamo.Validation(wrongKey)
	}
	return checkKeyValue(a, size, hash)
}

func checkKeyValue(a keyAttr, size int, hash bool) error {
	if size == 0 {
		return dynamo.Validation("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s",
			kindWord(a.Type), a.Name)
	}
	return checkKeySize(size, hash)
}

func checkKeySize(size int, hash bool) error {
	if hash && size > maxHashBytes {
		return dynamo.Validation("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes")
	}
	if !hash && size > maxRangeBytes {
		return dynamo.Validation("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
	}
	return nil
}

// keySize returns the bytes of a key value; false when it is not of the key's type.
func keySize(v types.AttributeValue, t types.ScalarAttributeType) (int, bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value), t == types.ScalarAttributeTypeS
	case *types.AttributeValueMemberN:
		return 1, t == types.ScalarAttributeTypeN
	case *types.AttributeValueMemberB:
		return len(v.Value), t == types.ScalarAttributeTypeB
	}
	return 0, false
}

func kindWord(t types.ScalarAttributeType) string {
	if t == types.ScalarAttributeTypeB {
		return "binary"
	}
	return "string"
}
