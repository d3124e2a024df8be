package catalog

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// DynamoDB's limits, in bytes.
const (
	maxHashBytes  = 2048
	maxRangeBytes = 1024
)

const WrongKey = "The provided key element does not match the schema"

// CheckItem validates the keys, index keys and size of an item to be stored.
func (d *Table) CheckItem(it item.Item) error {
	if err := checkItemKey(it, d.Hash, true); err != nil {
		return err
	}
	if d.Range.Name != "" {
		if err := checkItemKey(it, d.Range, false); err != nil {
			return err
		}
	}
	return d.CheckIndexKeys(it)
}

// CheckIndexKeys validates the index key attributes of an item. They may be absent.
func (d *Table) CheckIndexKeys(it item.Item) error {
	for i := range d.Indexes {
		if err := d.Indexes[i].CheckKeys(it); err != nil {
			return err
		}
	}
	return nil
}

// CheckKeys validates the attributes of an item that are keys of the index. They may be absent.
func (x *Index) CheckKeys(it item.Item) error {
	if err := x.checkKey(it, x.Hash, true); err != nil {
		return err
	}
	return x.checkKey(it, x.Range, false)
}

// checkKey validates the attributes of one of the index's keys, whose total size is limited.
func (x *Index) checkKey(it item.Item, key Keys, hash bool) error {
	total := 0
	for i := range key {
		a := &key[i]
		v := it[a.Name]
		if v == nil {
			continue
		}
		size, ok := KeySize(v, a.Type)
		if !ok {
			return request.Invalid("One or more parameter values were invalid: Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s",
				a.Name, a.Type, item.TypeName(v), x.Name)
		}
		if size == 0 {
			return request.Invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
				"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s", KindWord(a.Type), x.Name, a.Name)
		}
		total += size
	}
	return CheckKeySize(total, hash)
}

// checkItemKey validates a key attribute of an item.
func checkItemKey(it item.Item, a Key, hash bool) error {
	v := it[a.Name]
	if v == nil {
		return request.Invalid("One or more parameter values were invalid: Missing the key %s in the item", a.Name)
	}
	size, ok := KeySize(v, a.Type)
	if !ok {
		return request.Invalid("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s", a.Name, a.Type, item.TypeName(v))
	}
	return checkKeyValue(a, size, hash)
}

// CheckKey validates the Key parameter of a request, which must consist of exactly the key
// attributes.
func (d *Table) CheckKey(key item.Item) error {
	n := 1
	if d.Range.Name != "" {
		n = 2
	}
	if len(key) != n {
		return request.Invalid(WrongKey)
	}
	if err := checkKeyPart(key, d.Hash, true); err != nil || n == 1 {
		return err
	}
	return checkKeyPart(key, d.Range, false)
}

func checkKeyPart(key item.Item, a Key, hash bool) error {
	size, ok := KeySize(key[a.Name], a.Type)
	if !ok {
		return request.Invalid(WrongKey)
	}
	return checkKeyValue(a, size, hash)
}

func checkKeyValue(a Key, size int, hash bool) error {
	if size == 0 {
		return request.Invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s",
			KindWord(a.Type), a.Name)
	}
	return CheckKeySize(size, hash)
}

// CheckKeySize rejects key values that are too long.
func CheckKeySize(size int, hash bool) error {
	if hash && size > maxHashBytes {
		return request.Invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes")
	}
	if !hash && size > maxRangeBytes {
		return request.Invalid("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
	}
	return nil
}

// KeySize returns the size of a key value in bytes, and false if it does not have the key's type.
func KeySize(v types.AttributeValue, t types.ScalarAttributeType) (int, bool) {
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

// KindWord returns the word that messages use for a key type that has a length.
func KindWord(t types.ScalarAttributeType) string {
	if t == types.ScalarAttributeTypeB {
		return "binary"
	}
	return "string"
}

// CheckScalars rejects expressions that access parts of key attributes. nested are the attributes
// accessed in this way.
func (d *Table) CheckScalars(nested []string) error {
	const refusal = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: %s: %s"
	for _, name := range nested {
		if name == d.Hash.Name || name == d.Range.Name {
			return request.Invalid(refusal, "Key", name)
		}
		for _, x := range d.Indexes {
			if x.Hash.Has(name) || x.Range.Has(name) {
				return request.Invalid(refusal, "IndexKey", name)
			}
		}
	}
	return nil
}
